// Package networks tests the daemon in network namespaces.
//
// The tests need root and the program ip:
//
//	go test -tags netns -run Networks ./test/networks
//
// CLUSTER_FAULT_SECONDS=60 has faults of clusters last a minute, as real ones do, and
// checks limits of time; faults are short otherwise. CLUSTER_FAULTS="node cut off,rolling
// restart" runs only those two, and CLUSTER_FAULT_LOGS is a folder for the logs of the
// nodes. Lines that begin with "measured" have the effect of each fault.
package networks

import (
	"testing"

	"github.com/respawnd/respawnd/test/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }
