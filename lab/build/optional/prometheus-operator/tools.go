//go:build tools

// Names the program, so that go.sum has what it needs.
package tools

import (
	_ "github.com/prometheus-operator/prometheus-operator/cmd/operator"
)
