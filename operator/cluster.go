package operator

import "errors"

// ErrNoCluster reports that the daemon runs alone.
var ErrNoCluster = errors.New("this daemon is not part of a cluster (cluster.name)")

// ClusterNode is a node of the cluster as the daemon sees it.
type ClusterNode struct {
	Name    string `json:"name"`
	Self    bool   `json:"self"` // the daemon that answered
	Live    bool   `json:"live"`
	Version string `json:"version"`
	// Schema is the number of the last upgrade of the database that its program knows.
	Schema  int    `json:"schema"`
	Started string `json:"started"`  // by its own clock
	SeenMS  int64  `json:"seen_ms"`  // since its last message
	ClockMS int64  `json:"clock_ms"` // how far its clock is ahead
	PingMS  int64  `json:"ping_ms"`  // time of a request; 0: not known yet
	// Servers is the number of listed servers that report to it, Complete whether the
	// daemon has its whole list.
	Servers  int  `json:"servers"`
	Complete bool `json:"complete"`
}
