// Package lists tests how servers are listed and lists are read.
package lists

import (
	"testing"

	"github.com/respawnd/respawnd/test/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }
