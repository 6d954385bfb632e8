package operator

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"runtime"
	"slices"
	"time"
)

// Status describes the running daemon.
type Status struct {
	Version  string            `json:"version"`
	Go       string            `json:"go"`
	Started  string            `json:"started"`
	Services map[string]string `json:"services"` // addresses by name
	Servers  map[string]int    `json:"servers"`  // listed ones by game
	Bans     int               `json:"bans"`
	Sessions int               `json:"sessions"` // players who are signed in
	// Cluster are the nodes of the cluster, by name; none: the daemon runs alone.
	Cluster []ClusterNode `json:"cluster,omitempty"`
}

// GetStatus returns the state of the running daemon.
var GetStatus = New(Operation{
	Name: "status", Route: "GET /status", What: "Show the version, the services with their addresses, and numbers of servers, bans and sessions",
}, func(_ context.Context, l *Local, _ None) (Status, error) {
	if l.Listening == nil || l.Registry == nil {
		return Status{}, ErrNotRunning
	}
	started, services := l.Listening()
	s := Status{
		Version: l.Version, Go: runtime.Version(), Started: started.UTC().Format(time.RFC3339), Services: services,
		Servers: l.Registry.Counts(), Bans: len(l.Table.InForce(time.Now())),
	}
	if l.Sessions != nil {
		s.Sessions = l.Sessions.Count()
	}
	if l.Nodes != nil {
		s.Cluster = l.Nodes()
	}
	return s, nil
})

// VerdictCount is the number of addresses whose last verdict from a service was
// Verdict.
type VerdictCount struct {
	Service   string `json:"service"`
	Verdict   string `json:"verdict"`
	Addresses int    `json:"addresses"`
}

// CountVerdicts counts the newest verdict of each address, most addresses first.
var CountVerdicts = New(Operation{Name: "verdict count", Route: "GET /verdicts/summary", What: "Show how many addresses have which verdict"},
	func(ctx context.Context, l *Local, _ None) ([]VerdictCount, error) {
		list, err := ListVerdicts.Call(ctx, l, Address{})
		return countVerdicts(list), err
	})

func countVerdicts(list []Verdict) []VerdictCount {
	type key struct {
		service string
		address netip.AddrPort
	}
	newest := make(map[key]Verdict)
	for _, v := range list {
		k := key{v.Service, v.Address}
		if old, ok := newest[k]; !ok || v.Last.After(old.Last) {
			newest[k] = v
		}
	}
	counts := make(map[VerdictCount]int)
	for _, v := range newest {
		counts[VerdictCount{Service: v.Service, Verdict: v.Verdict}]++
	}
	out := make([]VerdictCount, 0, len(counts))
	for c, n := range counts {
		c.Addresses = n
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b VerdictCount) int {
		return cmp.Or(cmp.Compare(b.Addresses, a.Addresses), cmp.Compare(a.Service, b.Service), cmp.Compare(a.Verdict, b.Verdict))
	})
	return out
}

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
