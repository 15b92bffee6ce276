//go:build tools

// Names the program, so that go.sum has what it needs.
package tools

import (
	_ "sigs.k8s.io/node-feature-discovery/cmd/nfd-master"
)
