package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// account is a user with its profiles.
type account struct {
	User     storage.User      `json:"user"`
	Profiles []storage.Profile `json:"profiles"`
}

// relations are the buddies and blocks of a profile.
type relations struct {
	Profile storage.ProfileID   `json:"profile"`
	Buddies []storage.ProfileID `json:"buddies"`
	Blocks  []storage.ProfileID `json:"blocks"`
}

// mailbox has the messages that wait for a profile.
type mailbox struct {
	Profile  storage.ProfileID `json:"profile"`
	Messages []storage.Message `json:"messages"`
}

// statistics are the blocks and scores of a profile.
type statistics struct {
	Profile storage.ProfileID   `json:"profile"`
	Blocks  []storage.StatBlock `json:"blocks"`
	Scores  []storage.Score     `json:"scores"`
}

// accountKinds returns the kinds that belong to users and profiles.
func accountKinds() []kind {
	return []kind{
		{name: "accounts", each: accounts, put: one(putAccount)},
		perProfile("buddies and blocks", readRelations, func(ctx context.Context, s Store, r relations) error {
			return unlessTaken(s.ImportRelations(ctx, r.Profile, r.Buddies, r.Blocks))
		}),
		perProfile("requests", readRequests, func(ctx context.Context, s Store, r []storage.Request) error {
			return s.ImportRequests(ctx, r)
		}),
		perProfile("waiting messages", readMailbox, putMailbox),
		perProfile("statistics", readStatistics, func(ctx context.Context, s Store, st statistics) error {
			return unlessTaken(s.ImportStats(ctx, st.Profile, st.Blocks, st.Scores))
		}),
	}
}

// accounts yields the users above an id.
func accounts(ctx context.Context, s Store, after uint64) iter.Seq2[item, error] {
	return func(yield func(item, error) bool) {
		for u, err := range s.Users(ctx, storage.UserID(after)) {
			a := account{User: u}
			if err == nil {
				a.Profiles, err = profilesOf(ctx, s, u.ID)
			}
			a.User.Rev = 0
			if !yield(item{key: uint64(u.ID), records: 1 + len(a.Profiles), record: a}, err) {
				return
			}
		}
	}
}

// profilesOf returns the profiles of a user in the order of ids, without revisions.
func profilesOf(ctx context.Context, s Store, id storage.UserID) ([]storage.Profile, error) {
	all, err := s.ProfilesOf(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("profiles of user %d: %w", id, err)
	}
	slices.SortFunc(all, func(a, b storage.Profile) int { return cmp.Compare(a.ID, b.ID) })
	for i := range all {
		all[i].Rev = 0
	}
	return all, nil
}

func putAccount(ctx context.Context, s Store, a account) error {
	_, _, err := s.ImportUser(ctx, a.User, a.Profiles)
	taken, isTaken := errors.AsType[*storage.TakenError](err)
	if isTaken && taken.Index == storage.IndexUserID {
		return nil // of the interrupted copy
	}
	if err != nil {
		return fmt.Errorf("user %d: %w", a.User.ID, err)
	}
	return nil
}

// perProfile is a kind that each profile has some records of. Keys are ids of users.
func perProfile[R any](name string, read func(context.Context, Store, storage.ProfileID) (r R, n int, err error),
	put func(context.Context, Store, R) error,
) kind {
	return kind{
		name: name, put: one(put),
		each: func(ctx context.Context, s Store, after uint64) iter.Seq2[item, error] {
			return func(yield func(item, error) bool) {
				for u, err := range s.Users(ctx, storage.UserID(after)) {
					var profiles []storage.Profile
					if errors.Is(err, storage.ErrDamaged) {
						continue // reported with the accounts
					}
					if err == nil {
						profiles, err = profilesOf(ctx, s, u.ID)
					}
					if errors.Is(err, storage.ErrDamaged) {
						continue
					}
					if err != nil {
						yield(item{}, err)
						return
					}
					for _, p := range profiles {
						r, n, err := read(ctx, s, p.ID)
						if err == nil && n == 0 {
							continue
						}
						// A batch may end between two profiles of a user, which then
						// is copied again.
						if !yield(item{key: uint64(u.ID) - 1, records: n, record: r}, err) {
							return
						}
					}
				}
			}
		},
	}
}

func readRelations(ctx context.Context, s Store, id storage.ProfileID) (r relations, n int, err error) {
	r.Profile = id
	if r.Buddies, err = all(s.BuddiesOf(ctx, id)); err != nil {
		return r, 0, err
	}
	r.Blocks, err = all(s.BlocksOf(ctx, id))
	return r, len(r.Buddies) + len(r.Blocks), err
}

// all returns the records of an iteration.
func all[R any](records iter.Seq2[R, error]) (list []R, err error) {
	for r, err := range records {
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

func readRequests(ctx context.Context, s Store, id storage.ProfileID) ([]storage.Request, int, error) {
	list, err := all(s.Requests(ctx, id))
	return list, len(list), err
}

func readMailbox(ctx context.Context, s Store, id storage.ProfileID) (m mailbox, n int, err error) {
	m.Profile = id
	m.Messages, err = s.Messages(ctx, id, time.Time{}) // at that time none had expired
	for i := range m.Messages {
		m.Messages[i].ID = 0
	}
	return m, len(m.Messages), err
}

func putMailbox(ctx context.Context, s Store, m mailbox) error {
	there, err := s.Messages(ctx, m.Profile, time.Time{})
	if err != nil || len(there) > 0 {
		return err
	}
	n, err := s.Return(ctx, m.Profile, m.Messages)
	if err == nil && n != len(m.Messages) {
		err = fmt.Errorf("messages for profile %d: %w: %d of %d are stored", m.Profile, storage.ErrFull, n, len(m.Messages))
	}
	return err
}

func readStatistics(ctx context.Context, s Store, id storage.ProfileID) (st statistics, n int, err error) {
	st.Profile = id
	if st.Blocks, err = all(s.StatBlocks(ctx, id)); err != nil {
		return st, 0, err
	}
	st.Scores, err = all(s.ScoresOf(ctx, id))
	return st, len(st.Blocks) + len(st.Scores), err
}
