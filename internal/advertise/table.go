package advertise

import (
	"cmp"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/respawnd/respawnd/internal/hostnet"
	"github.com/respawnd/respawnd/master"
)

// Rule names the address under which the servers of a network are advertised to
// askers who cannot reach that network.
type Rule struct {
	From netip.Prefix // of the servers; the zero Prefix: all without a rule of their own
	As   netip.Addr   // IPv4
}

// Table knows the operator's rules and the networks of this machine. All
// methods may be called concurrently, and on nil, which gives every client
// every address unchanged.
type Table struct {
	registry *master.Registry

	changing sync.Mutex // held while now is replaced
	now      atomic.Pointer[facts]
}

// facts are the rules and networks in force. They are never modified, only
// replaced.
type facts struct {
	rules []Rule            // the narrowest network first, the one for all last
	own   []hostnet.Address // without loopback
}

// New returns a table for the servers of a registry without rules, on a machine
// without networks.
func New(r *master.Registry) *Table {
	t := &Table{registry: r}
	t.now.Store(&facts{})
	return t
}

// SetRules replaces the rules and reports whether they differ from the old
// ones.
func (t *Table) SetRules(rules []Rule) (changed bool) {
	rules = slices.Clone(rules)
	slices.SortStableFunc(rules, func(a, b Rule) int { return cmp.Compare(b.From.Bits(), a.From.Bits()) })
	return t.change(func(f *facts) { f.rules = rules })
}

// SetNetworks replaces the addresses of this machine.
func (t *Table) SetNetworks(all []hostnet.Address) {
	own := slices.DeleteFunc(slices.Clone(all), func(a hostnet.Address) bool { return a.Loopback || a.Addr().IsLoopback() })
	t.change(func(f *facts) { f.own = own })
}

// change replaces the facts only if they differ: each replacement invalidates
// the lists that were made for Askers of the old ones.
func (t *Table) change(set func(*facts)) (changed bool) {
	t.changing.Lock()
	defer t.changing.Unlock()
	old := t.now.Load()
	next := *old
	set(&next)
	if slices.Equal(old.rules, next.rules) && slices.Equal(old.own, next.own) {
		return false
	}
	t.now.Store(&next)
	return true
}

// rule returns the rule for a private address.
func (f *facts) rule(a netip.Addr) (r Rule, ok bool) {
	for _, r := range f.rules {
		if !r.From.IsValid() || r.From.Contains(a) {
			return r, true
		}
	}
	return Rule{}, false
}

// Covers reports whether there is a rule for the servers of an address.
func (t *Table) Covers(a netip.Addr) bool {
	if t == nil {
		return false
	}
	_, ok := t.now.Load().rule(a)
	return ok
}
