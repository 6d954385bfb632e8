// Package drops names the reasons for which services drop packets and end connections: a reason is
// declared once, with its label in metrics.
//
// It counts nothing; netserve.Metrics does.
package drops

// Reason is a reason, which is its label in metrics. Empty: nothing was dropped.
type Reason string

// Error implements error.
func (r Reason) Error() string { return string(r) }

// List has the reasons of a service.
type List []string

// Add declares a reason.
func (l *List) Add(label string) Reason {
	*l = append(*l, label)
	return Reason(label)
}
