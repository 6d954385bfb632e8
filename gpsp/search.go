package gpsp

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/storage"
)

// Bounds of a search.
const (
	// PageSize is the number of profiles on a page of a search.
	PageSize = 32
	// MaxCandidates is the number of profiles that one search reads; further
	// ones are not found.
	MaxCandidates = 1000
	// MaxNamespaces is the number of namespaces that searchunique searches.
	MaxNamespaces = 16
)

// Bits of a public mask.
const (
	showEmail   = 32
	showBuddies = 64
)

// hidden stands for an e-mail that is not shown.
const hidden = "[hidden]"

// criteria are the search criteria; empty ones are ignored.
type criteria struct {
	nick, uniqueNick, email, first, last string
	icq                                  int
	namespace, partner                   int
}

func criteriaOf(r *request) (c criteria, err error) {
	c = criteria{
		nick: r.get("nick"), uniqueNick: r.get("uniquenick"), email: r.get("email"),
		first: r.get("firstname"), last: r.get("lastname"),
	}
	if c.icq, err = r.number("icquin"); err != nil {
		return c, err
	}
	if c.namespace, err = r.count("namespaceid"); err != nil {
		return c, err
	}
	c.partner, err = r.count("partnerid")
	return c, err
}

// candidates yields the profiles that meet the criterion which fewest do. The
// others are not looked at.
func (s *Server) candidates(ctx context.Context, c *criteria) iter.Seq2[storage.Profile, error] {
	switch {
	case c.uniqueNick != "":
		p, _, err := s.opt.Accounts.Profiles.ByUniqueNick(ctx, c.namespace, c.uniqueNick)
		return one(p, err)
	case c.email != "":
		return s.profilesByEmail(ctx, c)
	case c.nick != "":
		return s.opt.Store.FindProfiles(ctx, storage.ByNick, c.nick)
	case c.icq != 0:
		return s.opt.Store.FindProfiles(ctx, storage.ByICQ, strconv.Itoa(c.icq))
	case c.last != "":
		return s.opt.Store.FindProfiles(ctx, storage.ByLastName, c.last)
	default:
		return s.opt.Store.FindProfiles(ctx, storage.ByFirstName, c.first)
	}
}

// one yields a profile that was looked up, or nothing if it was not found.
func one(p storage.Profile, err error) iter.Seq2[storage.Profile, error] {
	return func(yield func(storage.Profile, error) bool) {
		if !errors.Is(err, storage.ErrNotFound) {
			yield(p, err)
		}
	}
}

// profilesByEmail yields the profiles of the account with an e-mail.
func (s *Server) profilesByEmail(ctx context.Context, c *criteria) iter.Seq2[storage.Profile, error] {
	return func(yield func(storage.Profile, error) bool) {
		u, err := s.opt.Store.UserByEmail(ctx, c.partner, c.email)
		if errors.Is(err, storage.ErrNotFound) {
			return
		}
		var list []storage.Profile
		if err == nil {
			list, err = s.opt.Store.ProfilesOf(ctx, u.ID)
		}
		if err != nil {
			yield(storage.Profile{}, err)
			return
		}
		for _, p := range list {
			if !yield(p, nil) {
				return
			}
		}
	}
}

// met reports whether a profile of an account meets all criteria.
func (c *criteria) met(p *storage.Profile, u *storage.User) bool {
	same := func(want, have string) bool { return want == "" || storage.Fold(want) == storage.Fold(have) }
	return u.Partner == c.partner &&
		same(c.nick, p.Nick) && same(c.uniqueNick, p.UniqueNickIn(c.namespace)) && same(c.email, u.Email) &&
		same(c.first, p.FirstName) && same(c.last, p.LastName) && (c.icq == 0 || c.icq == int(p.ICQ))
}

// found is a profile that was found, with its account.
type found struct {
	storage.Profile
	user storage.User
}

// find yields the profiles that meet the criteria.
func (s *Server) find(ctx context.Context, c *criteria) iter.Seq2[found, error] {
	return func(yield func(found, error) bool) {
		seen := 0
		for p, err := range s.candidates(ctx, c) {
			if seen++; seen > MaxCandidates {
				return
			}
			f := found{Profile: p}
			if err == nil {
				f.user, err = s.opt.Store.GetUser(ctx, p.User)
			}
			if passOver(err) {
				continue
			}
			if (err != nil || c.met(&f.Profile, &f.user)) && !yield(f, err) {
				return
			}
		}
	}
}

// passOver reports whether an error concerns only one record: it was deleted
// meanwhile, or cannot be read.
func passOver(err error) bool {
	return errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrDamaged)
}

// search finds profiles by criteria, a page at a time.
func (s *Server) search(ctx context.Context, r *request, w *reply) error {
	asker, err := s.optionalAsker(ctx, r)
	if err != nil {
		return err
	}
	c, err := criteriaOf(r)
	if err != nil {
		return err
	}
	skip, err := r.count("skip")
	if err != nil {
		return err
	}
	more, n := int64(0), 0
	for f, err := range s.find(ctx, &c) {
		switch {
		case err != nil:
			return err
		case r.live.Private && c.email != "" && !emailShown(&f.Profile) && f.ID != asker:
			continue
		}
		if n++; n <= skip {
			continue
		}
		if n > skip+PageSize {
			more = 1
			break
		}
		writeFound(w, &f, c.namespace, c.email != "" || emailShown(&f.Profile))
	}
	endSearch(w, more)
	return nil
}

// searchUnique finds profiles by their unique nick in several namespaces.
func (s *Server) searchUnique(ctx context.Context, r *request, w *reply) error {
	if _, err := s.optionalAsker(ctx, r); err != nil {
		return err
	}
	list, ok := r.Get("namespaces")
	if !ok {
		list = r.get("namespaceids")
	}
	for _, namespace := range namespaces(list) {
		var f found
		var err error
		f.Profile, f.user, err = s.opt.Accounts.Profiles.ByUniqueNick(ctx, namespace, r.get("uniquenick"))
		if passOver(err) {
			continue
		}
		if err != nil {
			return err
		}
		writeFound(w, &f, namespace, emailShown(&f.Profile))
	}
	endSearch(w, 0) // with more, the client would continue with a plain search
	return nil
}

// namespaces parses a list of namespaces, without duplicates. Texts that are
// not numbers are ignored.
func namespaces(list string) (out []int) {
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
		if err != nil || n <= 0 || slices.Contains(out, int(n)) {
			continue
		}
		if out = append(out, int(n)); len(out) == MaxNamespaces {
			break
		}
	}
	return out
}

// writeFound writes the row of a profile that was found.
func writeFound(w *reply, f *found, namespace int, showEmail bool) {
	w.number("bsr", int64(f.ID))
	w.text("nick", f.Nick)
	w.text("uniquenick", f.UniqueNickIn(namespace))
	w.number("namespaceid", int64(namespace))
	w.text("firstname", f.FirstName)
	w.text("lastname", f.LastName)
	w.text("email", shown(f.user.Email, showEmail))
}

func endSearch(w *reply, more int64) {
	w.mark("bsrdone")
	w.number("more", more)
}

func emailShown(p *storage.Profile) bool { return p.PublicMask&showEmail != 0 }

func shown(email string, yes bool) string {
	if yes {
		return email
	}
	return hidden
}
