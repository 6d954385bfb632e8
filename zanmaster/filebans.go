package zanmaster

import (
	"net/netip"
	"path/filepath"
	"slices"
	"time"

	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// fileBans returns the lines of the ban files in a directory that cover an address
// and have not expired at now, all of them if the address is zero. Exempt addresses
// are covered by none.
func (a *access) fileBans(dir string, addr netip.Addr, now time.Time) (list []operator.FileBan) {
	if addr.IsValid() && (!addr.Is4() || a.exempt.has(addr, now)) {
		return nil
	}
	for _, of := range []struct {
		set          *ruleSet
		file, effect string
	}{
		{a.banned, BanFile, "may neither play nor request lists nor be listed"},
		{a.blocked, BlockFile, "may not be listed"},
	} {
		if addr.IsValid() && !of.set.has(addr, now) {
			continue
		}
		for i := range of.set.rules {
			if r := &of.set.rules[i]; r.inForce(now) && (!addr.IsValid() || r.covers(addr)) {
				list = append(list, operator.FileBan{
					Addresses: r.addresses, Scope: storage.ScopeZandronum.String(), Effect: of.effect,
					Reason: r.comment, Expires: r.expires, File: filepath.Join(dir, of.file), Line: r.line,
				})
			}
		}
	}
	return list
}

func (r *rule) inForce(now time.Time) bool { return r.expires.IsZero() || now.Before(r.expires) }

func (r *rule) covers(a netip.Addr) bool {
	n := number(a)
	return slices.ContainsFunc(r.patterns, func(p pattern) bool { return n&p.mask == p.value })
}

// FileBans returns the lines of the ban files in force that cover an address, all of
// them if it is zero. It does not block.
func (s *Server) FileBans(a netip.Addr) []operator.FileBan {
	return s.access.Load().fileBans(s.opt.Files, a, time.Now())
}

// readFileBans reads the ban files of a directory and returns their lines as FileBans
// does. Those that are wrong are left out; see check.
func readFileBans(dir string, addr netip.Addr) (list []operator.FileBan, err error) {
	if err := checkReadable(dir); err != nil {
		return nil, err
	}
	files := make(map[string]*ruleSet)
	for _, name := range FileNames() {
		f := newRuleFile(dir, name)
		_ = f.read() // wrong lines
		files[name] = f.set
	}
	a := access{banned: files[BanFile], exempt: files[ExemptFile], blocked: files[BlockFile]}
	return a.fileBans(dir, addr.Unmap(), time.Now()), nil
}
