// Package cluster tests several nodes as one service, and the PostgreSQL database that
// they share.
package cluster

import (
	"testing"

	"github.com/respawnd/respawnd/test/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }
