// Package crash tests that nothing acknowledged is lost: kills, full disks, damaged files.
package crash

import (
	"testing"

	"github.com/respawnd/respawnd/test/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }
