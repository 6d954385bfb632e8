package gpsp

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/storage"
)

// MaxOthers is the maximum number of rows of the replies about buddies.
const MaxOthers = storage.MaxBuddies

// others lists the profiles that have the asking profile as buddy.
func (s *Server) others(ctx context.Context, r *request, w *reply) error {
	asker, err := s.asker(ctx, r)
	if err != nil {
		return err
	}
	namespace, err := r.count("namespaceid")
	if err != nil {
		return err
	}
	w.mark("others")
	n := 0
	for id, err := range s.opt.Store.Watchers(ctx, asker) {
		if err == nil {
			err = s.writeOther(ctx, w, id, namespace)
		}
		if passOver(err) {
			continue
		}
		if err != nil {
			return err
		}
		if n++; n == MaxOthers {
			break
		}
	}
	w.mark("odone")
	return nil
}

func (s *Server) writeOther(ctx context.Context, w *reply, id storage.ProfileID, namespace int) error {
	p, err := s.opt.Store.GetProfile(ctx, id)
	if err != nil {
		return err
	}
	email := ""
	if emailShown(&p) {
		u, err := s.opt.Store.GetUser(ctx, p.User)
		if err != nil {
			return err
		}
		email = u.Email
	}
	w.number("o", int64(p.ID))
	w.text("nick", p.Nick)
	w.text("uniquenick", p.UniqueNickIn(namespace))
	w.text("first", p.FirstName)
	w.text("last", p.LastName)
	w.text("email", shown(email, email != ""))
	return nil
}

// othersList returns the unique nicks of the requested profiles.
func (s *Server) othersList(ctx context.Context, r *request, w *reply) error {
	asker, err := s.asker(ctx, r)
	if err != nil {
		return err
	}
	namespace, err := r.count("namespaceid")
	if err != nil {
		return err
	}
	w.mark("otherslist")
	n := 0
	for text := range strings.SplitSeq(r.get("opids"), "|") {
		id, err := strconv.ParseUint(strings.TrimSpace(text), 10, 31)
		if err != nil || id == 0 {
			continue
		}
		if n++; n > MaxOthers {
			break
		}
		nick, err := s.nickFor(ctx, r, asker, storage.ProfileID(id), namespace)
		if err != nil {
			return err
		}
		w.number("o", int64(id))
		w.text("uniquenick", nick)
	}
	w.mark("oldone")
	return nil
}

// nickFor returns the unique nick of a profile that the asking one may see, ""
// if there is none.
func (s *Server) nickFor(ctx context.Context, r *request, asker, id storage.ProfileID, namespace int) (string, error) {
	p, err := s.opt.Store.GetProfile(ctx, id)
	if passOver(err) {
		return "", nil
	}
	if err != nil || id == asker {
		return p.UniqueNickIn(namespace), err
	}
	rel, err := s.opt.Store.Relation(ctx, asker, id)
	if err != nil || rel.Blocked() || r.live.Private && !rel.BuddyOf {
		return "", err
	}
	return p.UniqueNickIn(namespace), nil
}

func (s *Server) profileList(ctx context.Context, r *request, w *reply) error {
	asker, err := s.asker(ctx, r)
	if err != nil {
		return err
	}
	owner, err := r.count("searchprofileid")
	if err != nil {
		return err
	}
	limit, err := r.number("maxresults")
	if err != nil {
		return err
	}
	if limit <= 0 || limit > MaxOthers {
		limit = MaxOthers
	}
	w.mark("profilelist")
	yes, err := s.buddiesShown(ctx, asker, storage.ProfileID(owner))
	if err != nil {
		return err
	}
	if !yes {
		w.number("hidden", 1)
		return nil
	}
	lists, err := s.opt.Store.Lists(ctx, storage.ProfileID(owner))
	if err != nil {
		return err
	}
	list := lists.Buddies[:min(len(lists.Buddies), limit)]
	w.number("count", int64(len(list)))
	for _, id := range list {
		w.number("o", int64(id))
	}
	w.mark("pldone")
	return nil
}

// buddiesShown reports whether the asking profile may see the buddies of
// another.
func (s *Server) buddiesShown(ctx context.Context, asker, owner storage.ProfileID) (bool, error) {
	if owner == asker {
		return true, nil
	}
	p, err := s.opt.Store.GetProfile(ctx, owner)
	if errors.Is(err, storage.ErrNotFound) {
		return false, nil
	}
	if err != nil || p.PublicMask&showBuddies == 0 {
		return false, err
	}
	rel, err := s.opt.Store.Relation(ctx, asker, owner)
	return err == nil && !rel.Blocked(), err
}
