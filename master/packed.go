package master

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"weak"
)

// A model is the text of a report in which others are packed: as their differences from it.
// The servers of a game report mostly the same names and values, and a listed server
// lies in memory for a minute until its next report comes.
type model struct {
	text  []byte                // never changes
	shape atomic.Pointer[Shape] // names of the last parsed report that it packs; nil: none was parsed
}

// Bounds of the models. They are held weakly: one that packs no report of a record is
// garbage, so all of them together take less memory than the reports would unpacked.
const (
	modelsPerGame = 4    // mods of a game may have texts of their own
	maxModelGames = 4096 // reports of further games are kept as they are
	// goodPart is the part of the text up to which a packed one is good: other models
	// are not tried then.
	goodPart = 8
	// poorPerModel is how many texts that no model packs well are packed badly until
	// one of them replaces the oldest model. One host cannot make all models useless
	// without as many reports.
	poorPerModel = 64
)

// models are the models of a Source.
type models struct {
	mu sync.RWMutex
	of map[string]*gameModels
}

// gameModels are those of one game; models.mu guards them.
type gameModels struct {
	list [modelsPerGame]weak.Pointer[model]
	next int // index of the oldest
	poor int // texts since the newest was added
}

// get returns the models of a game that are in use.
func (m *models) get(game string) (list [modelsPerGame]*model) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if g := m.of[game]; g != nil {
		for i, w := range g.list {
			list[i] = w.Value()
		}
	}
	return list
}

// learn makes a text that the models of a game pack badly a model, if it is the turn of
// one. It returns nil if not.
// The names that are expected of the reports of like, which may be nil, are expected of
// those of the new one.
func (m *models) learn(game string, text []byte, like *model) *model {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.of[game]
	if g == nil {
		if len(m.of) >= maxModelGames {
			m.sweep()
		}
		if len(m.of) >= maxModelGames {
			return nil
		}
		g = new(gameModels)
		m.of[game] = g
	}
	if g.poor++; g.list[g.next].Value() != nil && g.poor < poorPerModel {
		return nil
	}
	added := &model{text: bytes.Clone(text)}
	if like != nil {
		added.shape.Store(like.shape.Load())
	}
	g.list[g.next], g.poor = weak.Make(added), 0
	g.next = (g.next + 1) % modelsPerGame
	return added
}

// sweep removes the games of which no model is in use.
func (m *models) sweep() {
	for game, g := range m.of {
		if g.inUse() == 0 {
			delete(m.of, game)
		}
	}
}

// inUse returns the number of models that are in use.
func (m *models) inUse() (n int) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, g := range m.of {
		n += g.inUse()
	}
	return n
}

// inUse returns the number of models that are in use.
func (g *gameModels) inUse() (n int) {
	for _, w := range g.list {
		if w.Value() != nil {
			n++
		}
	}
	return n
}

// pack returns the form in which a text is kept: its difference to a model, or the text
// itself and nil. likely is the model of the report before, nil if there is none. memory is used if
// there is enough of it, and returned for the next call.
func (m *models) pack(game string, text []byte, likely *model, memory []byte) (by *model, kept, _ []byte) {
	t := trial{text: text, most: len(text) - len(text)/4, memory: memory[:0]}
	if t.try(likely) {
		return t.by, t.memory[t.from:], t.memory
	}
	for _, next := range m.get(game) {
		if next != likely && t.try(next) {
			return t.by, t.memory[t.from:], t.memory
		}
	}
	t.try(m.learn(game, text, cmp.Or(t.by, likely)))
	if t.by == nil {
		return nil, text, t.memory
	}
	return t.by, t.memory[t.from:], t.memory
}

// trial looks for the model that packs a text best.
type trial struct {
	text   []byte
	most   int    // bytes that the packed text may have to be the best yet
	by     *model // the best yet; nil: none packs it
	memory []byte // the text packed by the best lies at its end
	from   int    // where it begins
}

// try packs the text by a model, which may be nil, and reports whether no other need be
// tried.
func (t *trial) try(by *model) (good bool) {
	if by == nil {
		return false
	}
	from := len(t.memory)
	b, ok := appendPacked(t.memory, t.text, by.text, t.most)
	if !ok {
		t.memory = b[:from]
		return false
	}
	t.by, t.from, t.memory, t.most = by, from, b, len(b)-from
	return t.most <= len(t.text)/goodPart
}

// appendPacked appends the difference of a text to that of a model, and reports whether
// it has at most limit bytes:
//
//	number  bytes that both have at this point
//	number  bytes of the model that the text lacks then
//	number  bytes that follow
//	-       bytes of the text that the model lacks
//
// and so on until the end of the text. Both are compared from NUL to NUL, as reports
// consist of texts that end so. Numbers are unsigned varints.
func appendPacked(b, text, model []byte, limit int) (packed []byte, ok bool) {
	limit += len(b)
	for len(text) > 0 {
		same := commonPrefix(text, model)
		text, model = text[same:], model[same:]
		own, others := pieceOf(text), pieceOf(model)
		if len(model) == 0 {
			own = len(text)
		}
		tail := commonSuffix(text[:own], model[:others])
		own, others = own-tail, others-tail
		if len(b)+own+3 > limit {
			return b, false
		}
		b = binary.AppendUvarint(b, uint64(same))
		b = binary.AppendUvarint(b, uint64(others))
		b = binary.AppendUvarint(b, uint64(own))
		b = append(b, text[:own]...)
		text, model = text[own:], model[others:]
	}
	return b, len(b) <= limit
}

// appendUnpacked appends the text that appendPacked was given with the same model.
func appendUnpacked(b []byte, packed string, model []byte) []byte {
	b = slices.Grow(b, len(model))
	number := func() (n int) {
		for shift := 0; ; shift += 7 {
			c := packed[0]
			packed = packed[1:]
			if n |= int(c&0x7F) << shift; c < 0x80 {
				return n
			}
		}
	}
	for len(packed) > 0 {
		same, others, own := number(), number(), number()
		b = append(b, model[:same]...)
		b = append(b, packed[:own]...)
		model, packed = model[same+others:], packed[own:]
	}
	return b
}

// pieceOf returns the length of the first text in b and its NUL.
func pieceOf(b []byte) int {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return i + 1
	}
	return len(b)
}

// commonPrefix returns how many bytes at the begin of a and b are equal.
func commonPrefix(a, b []byte) (n int) {
	for len(a) >= 8 && len(b) >= 8 {
		if x := binary.LittleEndian.Uint64(a) ^ binary.LittleEndian.Uint64(b); x != 0 {
			return n + bits.TrailingZeros64(x)/8
		}
		a, b, n = a[8:], b[8:], n+8
	}
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return n + i
		}
	}
	return n + min(len(a), len(b))
}

// commonSuffix returns how many bytes at the end of a and b are equal.
func commonSuffix(a, b []byte) (n int) {
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}
