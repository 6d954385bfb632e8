package master

import "time"

// SetMade records when the list was made that this one is a mirror of.
func (r *Registry) SetMade(t time.Time) { r.made.Store(t.Unix()) }

// Made returns when the list was made that this one is a mirror of. It is zero for a list that
// is no mirror, and while nothing was read.
func (r *Registry) Made() (t time.Time) {
	if at := r.made.Load(); at != 0 && r.Limits().Mirror {
		t = time.Unix(at, 0).UTC()
	}
	return t
}
