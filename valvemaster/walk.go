package valvemaster

import (
	"container/list"
	"crypto/rand"
	"net/netip"
	"sync"
	"time"
)

// The sizes of pages, in servers. Where a page ends is chosen at random between
// least and most, so that its last server cannot be guessed. See "Lists" in
// doc.go.
const (
	leastSmall, mostSmall = 1, 8
	leastFull, mostFull   = 200, MaxEntries - 1

	proofEchoes = 2 // echoes in a row until pages are full
	maxRepeats  = 3 // how often a page is repeated

	walkLife = 30 * time.Second // how long a page is remembered
	maxWalks = 1 << 14          // of sources that proved themselves, and of others
)

// walk is the state of the last page sent to a source.
type walk struct {
	source   netip.AddrPort
	seed     netip.AddrPort // seed of its request
	last     netip.AddrPort // its last server: the seed that continues; zero Addr after the last page
	size     int            // bound of its servers
	echoes   int            // before it, in a row
	repeats  int
	at       time.Duration
	inProved bool
	place    *list.Element
}

// step is the answer to a request.
type step struct {
	size   int // bound of the page's servers, if more follow
	proved bool
	echoes int
	repeat bool
}

// most is the maximum number of servers on the page if no more follow.
func (s step) most() int {
	if s.proved {
		return mostFull
	}
	return mostSmall
}

// walks remembers pages: those of sources that proved that they receive them
// apart from the others, which are easily made up.
type walks struct {
	mu       sync.Mutex // guards the fields below
	bySource map[netip.AddrPort]*walk
	proved   *list.List // of *walk, the last used first
	others   *list.List
	most     int // of each
}

func newWalks(most int) *walks {
	return &walks{bySource: make(map[netip.AddrPort]*walk), proved: list.New(), others: list.New(), most: most}
}

// next decides about a request. trusted sources need no proof.
func (t *walks) next(source, seed netip.AddrPort, trusted bool, now time.Duration) step {
	if trusted {
		return step{size: mostFull, proved: true}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.bySource[source]
	if w == nil || now-w.at >= walkLife {
		return newStep(0)
	}
	switch {
	case seed != Start && seed == w.last:
		return newStep(min(w.echoes+1, proofEchoes))
	case seed == w.seed && w.repeats < maxRepeats:
		return step{size: w.size, proved: w.echoes >= proofEchoes, echoes: w.echoes, repeat: true}
	default:
		return newStep(0)
	}
}

// newStep chooses where a page ends.
func newStep(echoes int) step {
	var b [1]byte
	_, _ = rand.Read(b[:]) // never returns an error
	s := step{echoes: echoes, proved: echoes >= proofEchoes}
	if s.proved {
		s.size = leastFull + int(b[0])%(mostFull-leastFull+1)
	} else {
		s.size = leastSmall + int(b[0])%(mostSmall-leastSmall+1)
	}
	return s
}

// sent remembers a page. last is the zero AddrPort if it ends the walk.
func (t *walks) sent(source, seed, last netip.AddrPort, s step, now time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.bySource[source]
	if w != nil && w.inProved != s.proved {
		t.forget(w)
		w = nil
	}
	if w == nil {
		w = &walk{source: source, inProved: s.proved}
		queue := t.queue(s.proved)
		if queue.Len() >= t.most {
			t.forget(queue.Back().Value.(*walk))
		}
		w.place = queue.PushFront(w)
		t.bySource[source] = w
	} else {
		t.queue(s.proved).MoveToFront(w.place)
	}
	w.seed, w.last, w.size, w.echoes, w.at = seed, last, s.size, s.echoes, now
	if s.repeat {
		w.repeats++
	} else {
		w.repeats = 0
	}
}

func (t *walks) queue(proved bool) *list.List {
	if proved {
		return t.proved
	}
	return t.others
}

func (t *walks) forget(w *walk) {
	t.queue(w.inProved).Remove(w.place)
	delete(t.bySource, w.source)
}

// expire forgets the pages that are too old.
func (t *walks) expire(now time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, queue := range []*list.List{t.proved, t.others} {
		for e := queue.Back(); e != nil && now-e.Value.(*walk).at >= walkLife; e = queue.Back() {
			t.forget(e.Value.(*walk))
		}
	}
}

// len returns how many sources are remembered.
func (t *walks) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.bySource)
}
