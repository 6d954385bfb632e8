package main

import (
	"context"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"slices"
	"strings"
	"time"
)

// collectAt is how much garbage the daemon lets pile up, in percent of the memory in
// use, before it is collected. Go's default is 100. Most of the daemon's memory is the
// server list, of which little becomes garbage at the usual pace, so collecting twice
// as often costs little and saves a quarter of the memory.
const collectAt = 50

// collectorSettings are the environment variables with which an operator tunes Go's
// garbage collector.
var collectorSettings = []string{"GOGC", "GOMEMLIMIT"}

// tuneCollector sets the target of the garbage collector, and returns free memory to the
// system while the daemon is quiet, until stop is called. Neither, if the environment
// tunes the collector.
func tuneCollector(ctx context.Context, env []string) (stop func()) {
	if setsCollector(env) {
		return func() {}
	}
	debug.SetGCPercent(collectAt)
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		trim(ctx, readMemory, debug.FreeOSMemory)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// setsCollector reports whether the environment tunes the garbage collector.
func setsCollector(env []string) bool {
	return slices.ContainsFunc(env, func(pair string) bool {
		name, value, _ := strings.Cut(pair, "=")
		return value != "" && slices.Contains(collectorSettings, name)
	})
}

// Go returns memory to the system slowly, and keeps the memory of a burst until then. The
// daemon returns it once it is quiet.
const (
	trimLook = time.Second      // between two looks at the memory
	trimRest = 10 * time.Second // after it was returned, which takes a collection of garbage
	trimFree = 16 << 20         // least number of free bytes that is returned
	trimPart = 8                // free memory is more than this part of the memory in use
)

// memory is the state of the heap.
type memory struct {
	cycles      uint64 // of the garbage collector
	free, inUse uint64 // bytes; free ones count as memory of the daemon still
}

// readMemory returns the state of the heap.
func readMemory() memory {
	of := []runtimemetrics.Sample{
		{Name: "/gc/cycles/total:gc-cycles"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
	}
	runtimemetrics.Read(of)
	return memory{of[0].Value.Uint64(), of[1].Value.Uint64(), of[2].Value.Uint64() + of[3].Value.Uint64()}
}

// idles reports whether free memory should be returned: there is much of it, and no
// garbage was collected since the look before, so it is not needed soon.
func (m memory) idles(before memory) bool {
	return m.cycles == before.cycles && m.free >= trimFree && m.free > m.inUse/trimPart
}

// trim returns free memory to the system whenever the daemon is quiet, until ctx ends.
// give returns it.
func trim(ctx context.Context, read func() memory, give func()) {
	tick := time.NewTicker(trimLook)
	defer tick.Stop()
	var given time.Time
	for before := read(); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := read()
		if now.idles(before) && time.Since(given) >= trimRest {
			give()
			given = time.Now()
			now = read() // the collection that this took is not counted
		}
		before = now
	}
}
