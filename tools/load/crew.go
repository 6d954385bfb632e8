package main

import (
	"context"
	"errors"
	"time"

	"github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/zanmaster"
)

// openAll opens n users. With an error it returns those that are open.
func openAll(ctx context.Context, w *world, n int, open opener) ([]user, error) {
	var users []user
	for i := range n {
		u, err := open(ctx, w, i)
		if err != nil {
			return users, err
		}
		users = append(users, u)
	}
	return users, nil
}

func closeAll(users []user) {
	for _, u := range users {
		u.close(true)
	}
}

// several returns an opener of users that stand for n others each, and let them
// have their turns.
func several(n int, open opener) opener {
	return func(ctx context.Context, w *world, i int) (user, error) {
		crew := &crew{}
		for k := range n {
			u, err := open(ctx, w, i*n+k)
			if err != nil {
				crew.close(true)
				return nil, err
			}
			crew.users = append(crew.users, u)
		}
		return crew, nil
	}
}

// crew is a set of users that act one after the other.
type crew struct {
	users []user
	next  int
}

func (c *crew) do(ctx context.Context) error {
	c.next = (c.next + 1) % len(c.users)
	return c.users[c.next].do(ctx)
}

func (c *crew) close(rude bool) {
	for _, u := range c.users {
		u.close(rude)
	}
}

// populate returns a function that opens n users before those that are
// measured.
func populate(n int, open opener) func(context.Context, *world) ([]user, error) {
	return func(ctx context.Context, w *world) ([]user, error) { return openAll(ctx, w, n, open) }
}

// accounts returns a function that makes n accounts.
func accounts(n int) func(context.Context, *world) ([]user, error) {
	return func(ctx context.Context, w *world) ([]user, error) { return nil, makePlayers(ctx, w, n) }
}

// buddies returns a function that makes n accounts, and buddies of them in
// pairs.
func buddies(n int) func(context.Context, *world) ([]user, error) {
	return func(ctx context.Context, w *world) ([]user, error) {
		if err := makePlayers(ctx, w, n); err != nil {
			return nil, err
		}
		return nil, makeBuddies(ctx, w)
	}
}

// settleTime bounds the wait for a list to be whole.
const settleTime = 30 * time.Second

var errNeverWhole = errors.New("the list was never whole")

// settled returns a function that waits until all servers of the Valve-style
// master, which prepare registers, have been queried and listed.
func settled(prepare func(context.Context, *world) ([]user, error)) func(context.Context, *world) ([]user, error) {
	return func(ctx context.Context, w *world) ([]user, error) {
		users, err := prepare(ctx, w)
		if err != nil {
			return users, err
		}
		for end := time.Now().Add(settleTime); time.Now().Before(end) && pause(ctx, 100*time.Millisecond); {
			n, err := listedByValve(ctx, w)
			if err != nil || n == len(users) {
				return users, err
			}
		}
		return users, errors.Join(errNeverWhole, ctx.Err())
	}
}

// listedByValve counts the servers in the list of the Valve-style master.
func listedByValve(ctx context.Context, w *world) (int, error) {
	u, err := openValveBrowser(ctx, w, 0)
	if err != nil {
		return 0, err
	}
	defer u.close(true)
	err = u.do(ctx)
	return u.(*valveBrowser).seen, err
}

// counting returns an opener of users that request lists of all servers.
func counting(open opener) opener {
	return func(ctx context.Context, w *world, i int) (user, error) {
		u, err := open(ctx, w, i)
		switch u := u.(type) {
		case *browser:
			u.want = listed
		case *oldBrowser:
			u.want = listed
		case *launcher:
			u.want = listed
		case *epicBrowser:
			u.want = listed
		case *quake3Browser:
			u.want = listed
		case *doom3Browser:
			u.want = listed
		case *codBrowser:
			u.want = listed
		}
		return u, err
	}
}

// openFirstPage makes a browser that reads one page of the Valve-style list.
func openFirstPage(ctx context.Context, w *world, i int) (user, error) {
	u, err := openValveBrowser(ctx, w, i)
	if err == nil {
		u.(*valveBrowser).pages = 1
	}
	return u, err
}

// readers returns an opener of visitors that read one page only.
func readers(path string) opener {
	return func(ctx context.Context, w *world, i int) (user, error) {
		u, err := openReader(ctx, w, i)
		if err == nil {
			u.(*reader).paths = []string{path}
		}
		return u, err
	}
}

// zanBeater is a Zandronum server whose heartbeats are checked: after each one
// it requests a list in an unknown version, which has a short answer.
type zanBeater struct {
	*zanServer
	beater *launcher
}

var errNoList = errors.New("unknown version of a list")

// noVersion is an unknown version of the list.
const noVersion = 1

func openZanBeater(ctx context.Context, w *world, i int) (user, error) {
	z, err := openZanServer(ctx, w, i)
	if err != nil {
		return nil, err
	}
	l, err := openLauncher(ctx, w, i)
	if err != nil {
		z.close(true)
		return nil, err
	}
	return &zanBeater{z.(*zanServer), l.(*launcher)}, nil
}

func (z *zanBeater) do(ctx context.Context) error {
	if err := z.zanServer.do(ctx); err != nil {
		return err
	}
	if err := z.beater.Ask(noVersion); err != nil {
		return err
	}
	_, err := z.beater.Read(soon())
	if answer, ok := errors.AsType[zanmaster.AnswerError](err); ok && zandronum.Answer(answer) == zandronum.AnswerWrongVersion {
		return nil
	}
	return errors.Join(err, errNoList)
}

func (z *zanBeater) close(rude bool) {
	z.zanServer.close(rude)
	z.beater.close(rude)
}
