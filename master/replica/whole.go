package replica

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"
)

const (
	// jobTime is how long a node may take to request the next part of the complete list.
	jobTime = 30 * time.Second
	// maxJobs is how many nodes read the complete list at once; a further one ends the job that
	// waits longest.
	maxJobs = 64
)

// jobs are the complete lists that other nodes are reading, by node.
type jobs struct {
	mu  sync.Mutex // guards all
	all map[string]*job
}

// job is what a node has not read yet.
type job struct {
	number  uint64 // chosen by the node
	sources []netip.AddrPort
	last    time.Time
}

var errNoJob = errors.New("the complete list is read from the beginning")

// begin begins a job, in place of an earlier one of the node.
func (t *jobs) begin(node string, j *job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, node)
	for name, other := range t.all {
		if time.Since(other.last) > jobTime {
			delete(t.all, name)
		}
	}
	if len(t.all) >= maxJobs {
		t.endOldest()
	}
	t.all[node] = j
}

func (t *jobs) endOldest() {
	var oldest string
	for name, j := range t.all {
		if oldest == "" || j.last.Before(t.all[oldest].last) {
			oldest = name
		}
	}
	delete(t.all, oldest)
}

// handlePart answers a request for the next part of the complete list. A part holds each server as
// it is when the part is made, or newer than the batch that it names.
func (r *Replica) handlePart(_ context.Context, from string, data []byte) ([]byte, error) {
	m, _, err := parseMessage(data, kindFirst, kindNext)
	if err != nil {
		return nil, err
	}
	if m.kind == kindFirst {
		r.metrics.sent.Inc()
		r.jobs.begin(from, &job{number: m.number, sources: r.opt.Registry.OwnSources(nil), last: time.Now()})
	}
	r.jobs.mu.Lock()
	defer r.jobs.mu.Unlock()
	j := r.jobs.all[from]
	if j == nil || j.number != m.number {
		return nil, errNoJob
	}
	j.last = time.Now()
	r.sending.Lock()
	defer r.sending.Unlock()
	b := message{kindPart, r.batches.Load()}.append(make([]byte, 0, partSize+4096))
	for len(b) < partSize && len(j.sources) > 0 {
		if s, claim, ok := r.record(j.sources[0]); ok {
			b = appendServer(b, s, claim, j.last, r.opt.Sources[s.Origin] != nil)
			if _, known := r.published[j.sources[0]]; !known { // so that its end is published
				r.published[j.sources[0]] = publication{source: s.Key.Source}
			}
		}
		j.sources = j.sources[1:]
	}
	if len(j.sources) == 0 {
		b[1] = kindLast
		delete(r.jobs.all, from)
	}
	return b, nil
}
