// Package games tests statistics, CD keys, web services and the back ends of single games.
package games

import (
	"testing"

	"github.com/respawnd/respawnd/test/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }
