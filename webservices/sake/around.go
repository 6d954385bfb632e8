package sake

import (
	"context"
	"iter"
	"slices"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/soap"
)

// window returns at most n of some ids: a target and those nearest to it, and the index of
// the target among them. As many precede it as follow it, or one more, unless there
// are too few on one side.
func window(ids []uint32, target, n int) (part []uint32, at int) {
	n = min(n, len(ids))
	from := min(max(target-n/2, 0), len(ids)-n)
	return ids[from : from+n], target - from
}

// outward yields the indexes below n by their distance from a target, of two equal ones
// the one after it first.
func outward(n, target int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for d := range n {
			if i := target + d; i < n && !yield(i) {
				return
			}
			if i := target - d; d > 0 && i >= 0 && !yield(i) {
				return
			}
		}
	}
}

// halves collects the records of a reply that are written outward from a target.
type halves struct {
	preceding map[uint32]bool // ids of the records before the target
	before    []*soap.Writer  // one for each, the nearest first
	after     soap.Writer     // the target and those after it
	size      int
}

func newHalves(ids []uint32, target int) *halves {
	h := &halves{preceding: make(map[uint32]bool, target)}
	for _, id := range ids[:target] {
		h.preceding[id] = true
	}
	return h
}

func (h *halves) add(id uint32, write func(*soap.Writer)) {
	w := &h.after
	if h.preceding[id] {
		w = new(soap.Writer)
		h.before = append(h.before, w)
	}
	old := w.Len()
	write(w)
	h.size += w.Len() - old
}

// whole returns all records in their order.
func (h *halves) whole() *soap.Writer {
	if len(h.before) == 0 {
		return &h.after
	}
	out := new(soap.Writer)
	for _, w := range slices.Backward(h.before) {
		out.Add(w)
	}
	out.Add(&h.after)
	return out
}

// batches yields the records with some ids outward from a target, a few at a time.
func (c *call) batches(ctx context.Context, ids []uint32, target int) iter.Seq2[[]storage.SakeRecord, error] {
	return func(yield func([]storage.SakeRecord, error) bool) {
		batch := make([]uint32, 0, recordBatch)
		for i := range outward(len(ids), target) {
			if batch = append(batch, ids[i]); len(batch) < recordBatch {
				continue
			}
			if !yield(c.opt.Store.SakeRecords(ctx, c.id, batch)) {
				return
			}
			batch = batch[:0]
		}
		if len(batch) > 0 {
			yield(c.opt.Store.SakeRecords(ctx, c.id, batch))
		}
	}
}
