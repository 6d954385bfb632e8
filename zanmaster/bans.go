package zanmaster

import (
	"errors"
	"net/netip"
	"path/filepath"
	"slices"
	"time"

	"github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// access holds the rules of files and store for addresses. It is immutable.
type access struct {
	banned, exempt, blocked, multi *ruleSet

	list    zandronum.BanList // for game servers
	version uint64            // grows when list changes
	next    time.Time         // when the first ban in it will be over; zero: never
}

// banned reports whether an address may neither ask nor be listed.
func (s *Server) banned(a netip.Addr, now time.Time) bool {
	acc := s.access.Load()
	yes := acc.banned.has(a, now)
	if !yes && s.opt.Bans != nil {
		_, yes = s.opt.Bans.Check(storage.ScopeZandronum, a, now)
	}
	return yes && !acc.exempt.has(a, now)
}

// blocked reports whether an address may not be listed.
func (s *Server) blocked(a netip.Addr, now time.Time) bool {
	acc := s.access.Load()
	return acc.blocked.has(a, now) && !acc.exempt.has(a, now)
}

// MultiServer reports whether the file multiserver_whitelist.txt lets an
// address have any number of servers. It does not block; the registry's own
// limits should exempt such addresses too.
func (s *Server) MultiServer(a netip.Addr) bool {
	return a.Is4() && s.access.Load().multi.has(a, time.Now())
}

// readFiles reads the ban files again and puts them in force. Lines that are wrong
// are left out, and the error names them with file and line; a file that cannot
// be read leaves its rules as they were.
func (s *Server) readFiles() error {
	s.reading.Lock()
	var errs []error
	for _, f := range s.files() {
		errs = append(errs, f.read())
	}
	acc := s.changeAccess(time.Now())
	s.reading.Unlock()
	if s.opt.Files != "" {
		s.opt.Log.Info().Int("bans", acc.banned.len()).Int("exemptions", acc.exempt.len()).
			Int("blocks", acc.blocked.len()).Int("multi_server", acc.multi.len()).Msg("ban files read")
	}
	s.enforce()
	return errors.Join(errs...)
}

func (s *Server) files() [4]*ruleFile {
	return [...]*ruleFile{s.banFile, s.exemptFile, s.blockFile, s.multiFile}
}

// filesChanged reports whether any file looks different.
func (s *Server) filesChanged() bool {
	s.reading.Lock()
	defer s.reading.Unlock()
	files := s.files()
	return slices.ContainsFunc(files[:], (*ruleFile).changed)
}

// bansChanged applies a change of the store's bans, or of the expired ones.
func (s *Server) bansChanged() {
	s.reading.Lock()
	s.changeAccess(time.Now())
	s.reading.Unlock()
	s.enforce()
}

// changeAccess rebuilds the rules in force. Server.reading is held.
func (s *Server) changeAccess(now time.Time) *access {
	old := s.access.Load()
	acc := &access{
		banned: s.banFile.set, exempt: s.exemptFile.set, blocked: s.blockFile.set, multi: s.multiFile.set,
	}
	acc.list.Bans, acc.next = acc.banned.texts(nil, now)
	acc.list.Bans, acc.next = s.storeTexts(acc.list.Bans, acc.next, now)
	var next time.Time
	acc.list.Exempt, next = acc.exempt.texts(nil, now)
	acc.next = earlier(acc.next, next)
	acc.list.Bans, acc.list.Exempt = unique(acc.list.Bans), unique(acc.list.Exempt)
	if acc.list.Len() > maxBanItems {
		s.opt.Log.Warn().Int("most", maxBanItems).Msg("ban list too long for game servers: its end is not sent to them")
		acc.list.Exempt = acc.list.Exempt[:min(len(acc.list.Exempt), maxBanItems)]
		acc.list.Bans = acc.list.Bans[:min(len(acc.list.Bans), maxBanItems-len(acc.list.Exempt))]
	}
	if old != nil {
		acc.version = old.version
		if !slices.Equal(old.list.Bans, acc.list.Bans) || !slices.Equal(old.list.Exempt, acc.list.Exempt) {
			acc.version++
		}
	}
	s.access.Store(acc)
	return acc
}

// maxBanItems is the number of items that fit all parts of a list, with the
// longest addresses and verification strings.
const maxBanItems = zandronum.MaxBanParts * ((zandronum.MaxBanPart - 4 - maxVerification) / (1 + 15 + 1))

// storeTexts appends the bans of the store that concern Zandronum.
func (s *Server) storeTexts(list []string, next, now time.Time) ([]string, time.Time) {
	if s.opt.Bans == nil {
		return list, next
	}
	for _, b := range s.opt.Bans.List() {
		concerns := b.Scope == storage.ScopeZandronum || b.Scope == storage.ScopeAll
		if !concerns || !b.Prefix.Addr().Is4() || b.Expired(now) {
			continue
		}
		if len(list) > maxBanItems {
			break
		}
		next = earlier(next, b.Expires)
		list = prefixPattern(b.Prefix).appendTexts(list)
	}
	return list, next
}

// unique drops texts that came before.
func unique(texts []string) []string {
	seen := make(map[string]bool, len(texts))
	return slices.DeleteFunc(texts, func(t string) bool {
		again := seen[t]
		seen[t] = true
		return again
	})
}

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
