package advertise

import "sync"

// mostForms is the maximum number of forms that are kept at a time.
const mostForms = 64

// Forms keeps a list with private servers in the forms that different askers are given. The
// zero value is ready; methods may be called concurrently.
type Forms[V any] struct {
	mu   sync.Mutex // guards kept
	kept map[Asker]V
}

// For returns the form for an asker, which is made if it is not kept.
func (f *Forms[V]) For(a Asker, build func() V) V {
	f.mu.Lock()
	defer f.mu.Unlock()
	if v, ok := f.kept[a]; ok {
		return v
	}
	if f.kept == nil || len(f.kept) == mostForms {
		f.kept = make(map[Asker]V)
	}
	v := build()
	f.kept[a] = v
	return v
}
