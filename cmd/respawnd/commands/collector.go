package commands

import (
	"context"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/respawnd/respawnd/internal/clock"
)

// How much garbage the daemon lets pile up before it is collected, in percent of the memory in use.
const (
	// collectAt is that of much memory. Go's default is 100. Most of it is the server list, of which
	// little becomes garbage at the usual pace, so collecting twice as often costs little and saves a
	// quarter of the memory.
	collectAt = 50
	// collectRoom is how much garbage may always pile up, in bytes, at most collectMost percent: to
	// collect a few megabytes again and again would cost more time than it saves memory.
	collectRoom = 16 << 20
	collectMost = 200
)

// collectFor returns the percentage for so many bytes in use.
func collectFor(live uint64) int {
	return int(min(max(collectRoom*100/max(live, 1), collectAt), collectMost))
}

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
	debug.SetGCPercent(collectMost)
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	afterStart := sync.OnceFunc(debug.FreeOSMemory) // reads pages of the program, so it comes first
	go func() {
		defer close(ended)
		trim(ctx, collector{
			read: readMemory, share: func(percent int) { debug.SetGCPercent(percent) }, give: debug.FreeOSMemory,
			release: func() { afterStart(); releaseProgram() },
		})
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

// Go returns memory to the system slowly, and leaves the garbage of a burst until as much
// again was allocated. The daemon returns both once it is quiet.
const (
	trimLook  = time.Second      // between two looks at the memory
	trimRest  = 10 * time.Second // after it was returned, which takes a collection of garbage
	trimFree  = 2 << 20          // least number of bytes that is returned
	trimPart  = 8                // what is returned is more than this part of the memory in use
	trimQuiet = 256 << 10        // most bytes that are allocated between two looks while garbage is returned

	releaseRest = time.Minute // after pages of the program were returned
)

// memory is the state of the heap, in bytes unless another unit is given.
type memory struct {
	cycles    uint64 // of the garbage collector
	free      uint64 // counts as memory of the daemon still
	inUse     uint64
	allocated uint64 // since the start
	live      uint64 // part of inUse: left by the last collection
	recent    uint64 // part of inUse: allocated since the last collection, garbage or not
}

// readMemory returns the state of the heap.
func readMemory() memory {
	of := []runtimemetrics.Sample{
		{Name: "/gc/cycles/total:gc-cycles"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/gc/heap/allocs:bytes"},
		{Name: "/gc/heap/live:bytes"},
	}
	runtimemetrics.Read(of)
	objects, live := of[2].Value.Uint64(), of[5].Value.Uint64()
	return memory{
		cycles: of[0].Value.Uint64(), free: of[1].Value.Uint64(), inUse: objects + of[3].Value.Uint64(),
		allocated: of[4].Value.Uint64(), live: live, recent: objects - min(live, objects),
	}
}

// idles reports whether memory should be returned: no garbage was collected since the
// look before, and there is much that is free, so it is not needed soon, or much that may
// be garbage while little is allocated, so that it would stay for minutes.
func (m memory) idles(before memory) bool {
	much := func(n uint64) bool { return n >= trimFree && n > m.inUse/trimPart }
	return m.cycles == before.cycles && (much(m.free) || m.quiet(before) && much(m.recent))
}

// quiet reports whether little was allocated since the look before.
func (m memory) quiet(before memory) bool { return m.allocated-before.allocated <= trimQuiet }

// collector is what trim does to the heap.
type collector struct {
	read    func() memory
	share   func(percent int) // sets how much garbage may pile up
	give    func()            // collects garbage and returns free memory to the system
	release func()            // returns pages of the program
}

// trim adapts the share of garbage to the memory in use, and collects it and returns free memory to
// the system whenever the daemon is quiet, until ctx ends. Pages of the program are returned at the
// first quiet look, and then at most each releaseRest.
func trim(ctx context.Context, c collector) {
	var given, released time.Time
	share := collectMost
	before := c.read()
	for range clock.Ticks(ctx, trimLook) {
		now := c.read()
		if wanted := collectFor(now.live); wanted != share {
			share = wanted
			c.share(share)
		}
		if now.idles(before) && time.Since(given) >= trimRest {
			c.give()
			given = time.Now()
			now = c.read() // the collection that this took is not counted
		}
		if now.quiet(before) && time.Since(released) >= releaseRest {
			c.release()
			released = time.Now()
		}
		before = now
	}
}
