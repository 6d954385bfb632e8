// Package drops names the reasons for which services drop packets and end connections: a reason is
// declared once, with its label in metrics, its verdict and its text.
//
// It counts nothing; netserve.Metrics does.
package drops

import (
	"strings"

	"github.com/respawnd/respawnd/internal/verdicts"
)

// Reason is a reason for which something was dropped; the zero value: nothing was.
type Reason struct {
	label, text string
	verdict     verdicts.Verdict
	judges      bool // it has a verdict
}

// Error returns the label in metrics.
func (r Reason) Error() string { return r.label }

// String returns the label too.
func (r Reason) String() string { return r.label }

// Text returns the text for the client, empty if it is sent none.
func (r Reason) Text() string { return r.text }

// Verdict returns the verdict on the address of the sender. ok is false for reasons without
// one: they say nothing about it.
func (r Reason) Verdict() (v verdicts.Verdict, ok bool) { return r.verdict, r.judges }

// List has the labels of the reasons of a service.
type List []string

// Add declares a reason by its label, with the text for clients if they are sent one.
func (l *List) Add(label string, text ...string) Reason {
	*l = append(*l, label)
	return Reason{label: label, text: strings.Join(text, "")}
}

// Judge is Add for a reason with a verdict.
func (l *List) Judge(label string, v verdicts.Verdict, text ...string) Reason {
	r := l.Add(label, text...)
	r.verdict, r.judges = v, true
	return r
}
