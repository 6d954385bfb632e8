// Package docs tests that the documentation is true: commands, links, metrics.
package docs

import (
	"testing"

	"github.com/respawnd/respawnd/test/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }
