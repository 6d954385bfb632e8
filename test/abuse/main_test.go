// Package abuse tests what strangers may not do: floods, garbage, too many connections.
package abuse

import (
	"testing"

	"github.com/respawnd/respawnd/test/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }
