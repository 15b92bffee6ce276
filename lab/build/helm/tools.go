//go:build tools

// Names the program, so that go.sum has what it needs.
package tools

import (
	_ "helm.sh/helm/v3/cmd/helm"
)
