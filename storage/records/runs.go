package records

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

var _ storage.Sessions = Shared{}

// nodeRun is a run of a node. A node has one at most. The number of its beats is apart, so
// that a beat changes nothing that a sign-in reads.
type nodeRun struct {
	storage.NodeRun

	ended bool
}

// openRun returns a run without its beats. content is 1 if it was ended, else 0, and the
// node.
func openRun(run uint64, content []byte) nodeRun {
	return nodeRun{storage.NodeRun{Node: string(content[1:]), Run: run}, content[0] != 0}
}

// run returns a run, or ErrNotFound.
func (v *view) run(run uint64) (nodeRun, error) {
	content, err := v.wanted(tableRuns, numberKey(run), 1)
	if err != nil {
		return nodeRun{}, err
	}
	return openRun(run, content), nil
}

// allRuns returns the runs in the order of their numbers.
func (v *view) allRuns() (all []nodeRun) {
	for e := range v.entries(whole(tableRuns), 1) {
		all = append(all, openRun(binary.BigEndian.Uint64(e.Key), e.Value))
	}
	return all
}

func (c *change) putRun(r nodeRun) {
	c.putEntry(tableRuns, numberKey(r.Run), append([]byte{flag(r.ended)}, r.Node...))
}

// emptyRun removes sessions of a run, and reports whether some may be left. No step removes
// more than mostAtOnce: when a node has died, its players sign in elsewhere at that moment,
// which changes what such a step reads.
func (c *change) emptyRun(run uint64) (more bool) {
	all := c.placesOf(run, mostAtOnce)
	c.dropSessions(run, all)
	return len(all) == mostAtOnce
}

// checkNode returns an error for a name that no node can have.
func checkNode(node string) error {
	if node == "" || len(node) > storage.MaxNodeName {
		return storage.ErrInvalid
	}
	return nil
}

// BeginRun is described in [storage.Sessions].
func (s Shared) BeginRun(ctx context.Context, node string) (run uint64, err error) {
	if err := checkNode(node); err != nil {
		return 0, err
	}
	err = s.steps(ctx, func(c *change) (more bool, err error) {
		for _, r := range c.allRuns() {
			if r.Node != node {
				continue
			}
			if c.emptyRun(r.Run) {
				return true, nil
			}
			c.delete(tableRuns, numberKey(r.Run))
			c.delete(tableBeats, numberKey(r.Run))
		}
		run = c.next(tableFences)
		c.putRun(nodeRun{NodeRun: storage.NodeRun{Node: node, Run: run}})
		return false, nil
	})
	return run, err
}

// EndRun is described in [storage.Sessions]. The step that removes the last sessions ends
// the run, so that another node can complete what one begins.
func (s Shared) EndRun(ctx context.Context, run uint64) error {
	return s.steps(ctx, func(c *change) (more bool, err error) {
		r, err := c.run(run)
		switch {
		case isMissing(err):
			return false, nil
		case err != nil:
			return false, err
		case c.emptyRun(run):
			return true, nil
		case !r.ended:
			r.ended = true
			c.putRun(r)
		}
		return false, nil
	})
}

// Beat is described in [storage.Sessions]. All but the runs is read loosely: only the node
// itself writes its number of beats, and what it misses now it finds at the next beat.
func (s Shared) Beat(ctx context.Context, node string, run, after uint64, mail storage.Mail) (storage.Pulse, error) {
	if len(mail.To) > storage.MaxMail {
		return storage.Pulse{}, storage.ErrInvalid
	}
	return perform(storage.WithoutAudit(ctx), s.Store, func(c *change) (p storage.Pulse, err error) {
		c.loadRanges(whole(tableRuns), beatRange(), displacedRange(run), endRange(after))
		all := c.allRuns()
		c.failed(stateOf(all, node, run))
		beats := allBeats(c.view)
		own := beat{beats[run].number + 1, mail}
		beats[run] = own
		p = storage.Pulse{Runs: alive(all, beats), Displaced: displacedOf(c.view, run), Ends: endsAfter(c.view, after)}
		c.putEntry(tableBeats, numberKey(run), own.content())
		return p, nil
	})
}

// stateOf returns why a run cannot be used, nil if it can.
func stateOf(all []nodeRun, node string, run uint64) error {
	i := slices.IndexFunc(all, func(r nodeRun) bool { return r.Run == run })
	switch {
	case i >= 0 && all[i].ended:
		return storage.ErrConflict
	case i >= 0:
		return nil
	case slices.ContainsFunc(all, func(r nodeRun) bool { return r.Node == node }):
		return storage.ErrTaken
	}
	return storage.ErrNotFound
}

func beatRange() engine.Range { return engine.Range{Table: tableBeats, Loose: true} }

// beat is the last beat of a run.
type beat struct {
	number uint64
	mail   storage.Mail
}

func (b beat) content() []byte {
	content := binary.BigEndian.AppendUint64(numberKey(b.number), b.mail.Last)
	for _, id := range b.mail.To {
		content = append(content, idKey(id)...)
	}
	return content
}

// openBeat is the inverse of content. Older versions wrote the number alone.
func openBeat(content []byte) (b beat) {
	b.number = binary.BigEndian.Uint64(content)
	if len(content) < 16 {
		return b
	}
	b.mail.Last = binary.BigEndian.Uint64(content[8:])
	for id := content[16:]; len(id) >= 4; id = id[4:] {
		b.mail.To = append(b.mail.To, storage.ProfileID(binary.BigEndian.Uint32(id)))
	}
	return b
}

// allBeats returns the last beats by runs.
func allBeats(v *view) map[uint64]beat {
	beats := make(map[uint64]beat)
	for e := range v.entries(beatRange(), 8) {
		beats[binary.BigEndian.Uint64(e.Key)] = openBeat(e.Value)
	}
	return beats
}

// alive returns the runs that have not ended, with their beats, in the order of nodes.
func alive(all []nodeRun, beats map[uint64]beat) (runs []storage.NodeRun) {
	for _, r := range all {
		if r.Beats, r.Mail = beats[r.Run].number, beats[r.Run].mail; !r.ended {
			runs = append(runs, r.NodeRun)
		}
	}
	slices.SortFunc(runs, func(a, b storage.NodeRun) int { return cmp.Compare(a.Node, b.Node) })
	return runs
}

// EndSessions is described in [storage.Sessions].
func (s Shared) EndSessions(ctx context.Context, e storage.AccountEnd) (fence uint64, err error) {
	if err := e.Check(); err != nil {
		return 0, err
	}
	return perform(storage.WithoutAudit(ctx), s.Store, func(c *change) (uint64, error) {
		fence := c.next(tableFences)
		content := append(append(idKey(e.User), idKey(e.Profile)...), e.Reason)
		c.putEntry(tableEnds, numberKey(fence), content)
		return fence, nil
	})
}

// endRange is the range of the ends of sessions above a fence.
func endRange(fence uint64) engine.Range {
	return engine.Range{Table: tableEnds, From: append(numberKey(fence), 0), Limit: storage.MaxAccountEnds, Loose: true}
}

// endsAfter returns the ends of sessions above a fence.
func endsAfter(v *view, fence uint64) (ends []storage.AccountEnd) {
	for e := range v.entries(endRange(fence), 9) {
		ends = append(ends, storage.AccountEnd{
			Fence: binary.BigEndian.Uint64(e.Key), User: storage.UserID(binary.BigEndian.Uint32(e.Value)),
			Profile: storage.ProfileID(binary.BigEndian.Uint32(e.Value[4:])), Reason: e.Value[8],
		})
	}
	return ends
}

// SweepEnds is described in [storage.Sessions].
func (s Shared) SweepEnds(ctx context.Context, upto uint64) (n int, err error) {
	r := engine.Range{Table: tableEnds, To: append(numberKey(upto), 0), Limit: mostAtOnce}
	for {
		dropped, err := perform(storage.WithoutAudit(ctx), s.Store, func(c *change) (int, error) {
			keys := c.keys(r)
			c.deleteAll(tableEnds, keys)
			return len(keys), nil
		})
		if n += dropped; err != nil || dropped < mostAtOnce {
			return n, err
		}
	}
}
