package selftest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/respawnd/respawnd/fesl"
	"github.com/respawnd/respawnd/fesl/wire"
	"github.com/respawnd/respawnd/gpcm"
	"github.com/respawnd/respawnd/gpsp"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/theater"
)

// badUniqueNick is the code for a login with a unique nick that no profile has.
const badUniqueNick = "265"

var errCannotLook = errors.New("admin: looking for an account that does not exist")

// Presence returns the steps that test sign-in and account search together.
// private means that account search confirms the existence of every account.
func Presence(private bool) []service.Step {
	needs := []string{"gpcm", "gpsp"}
	p := presence{private}
	return []service.Step{
		{Name: "presence", Needs: needs, Order: service.OrderPlayers, Run: p.unknown},
		{Name: "buddy message", Needs: needs, Order: service.OrderPlayers, Lasting: true, Run: buddyMessage},
		{Name: "fesl ticket", Needs: []string{"fesl", "gpcm"}, Order: service.OrderPlayers, Lasting: true, Run: feslTicket},
		{Name: "theater game", Needs: []string{"fesl", "theater"}, Order: service.OrderPlayers, Lasting: true, Run: theaterGame},
		{Name: "saved data", Needs: []string{"gpsp", "gstats"}, Order: service.OrderPlayers, Lasting: true, Run: saveData},
		{Name: "stored records", Needs: []string{"gpsp", "gpcm", "webservices"}, Order: service.OrderPlayers, Lasting: true, Run: storeRecord},
	}
}

type presence struct{ private bool }

// unknown queries both services for a player that cannot exist: the unique nick
// is longer than allowed. So the step needs no account and makes none.
func (p presence) unknown(ctx context.Context, t *service.Trial) error {
	name := "selftest-" + rand.Text()
	if err := p.lookUp(ctx, t, name+"@selftest.invalid"); err != nil {
		return fmt.Errorf("gpsp: %w", err)
	}
	if err := loginUnknown(ctx, t, name); err != nil {
		return fmt.Errorf("gpcm: %w", err)
	}
	return nil
}

// lookUp asks whether there is an account with an unknown e-mail address.
func (p presence) lookUp(ctx context.Context, t *service.Trial, email string) error {
	ctx = netclient.Bound(ctx, service.StepTimeout)
	conn, err := netclient.DialTCP(ctx, t.Address("gpsp"))
	if err != nil {
		return err
	}
	c := gpsp.NewClient(conn)
	defer func() { _ = c.Close() }()
	exists, err := c.Exists(ctx, email, t.Game)
	if err == nil && exists != p.private {
		err = netclient.Unexpected("a look-up", `\vr\`)
	}
	return err
}

// loginUnknown signs in with an unknown unique nick.
func loginUnknown(ctx context.Context, t *service.Trial, uniqueNick string) error {
	c, err := connect(ctx, t)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if _, err := c.SendLogin(gpcm.Login{By: "uniquenick", Name: uniqueNick, Game: t.Game}); err != nil {
		return err
	}
	m, err := c.Next(netclient.Bound(ctx, service.StepTimeout))
	if err != nil {
		return fmt.Errorf("no answer to a login: %w", err)
	}
	if !strings.HasPrefix(m, `\error\\err\`+badUniqueNick+`\`) || netclient.Field(m, "id") != "1" {
		return netclient.Unexpected("a login without an account", m)
	}
	return nil
}

func connect(ctx context.Context, t *service.Trial) (*gpcm.Client, error) {
	ctx = netclient.Bound(ctx, service.StepTimeout)
	conn, err := netclient.DialTCP(ctx, t.Address("gpcm"))
	if err != nil {
		return nil, err
	}
	return gpcm.Connect(ctx, conn)
}

// buddyMessage creates two accounts as games do, signs both players in, makes
// them buddies, and sends a message from one to the other. It deletes the
// accounts through the admin API, because the protocol cannot delete the last
// profile of an account.
func buddyMessage(ctx context.Context, t *service.Trial) (err error) {
	all, err := t.Accounts(ctx)
	if err != nil {
		return err
	}
	var players [2]*gpcm.Client
	for i := range players {
		a, _, err := makeAccount(ctx, t, all)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, deleteAccount(ctx, all, a.Email)) }()
		c, err := connect(ctx, t)
		if err == nil {
			defer func() { _ = c.Close() }()
			err = c.Login(netclient.Bound(ctx, service.StepTimeout), gpcm.Login{By: "uniquenick", Name: a.Nick, Password: a.Password, Game: a.Game})
		}
		if err != nil {
			return fmt.Errorf("gpcm: %w", err)
		}
		players[i] = c
	}
	if err := talk(netclient.Bound(ctx, service.StepTimeout), players[0], players[1]); err != nil {
		return fmt.Errorf("gpcm: %w", err)
	}
	return nil
}

// feslTicket signs in at the presence service with the ticket of a game of EA.
func feslTicket(ctx context.Context, t *service.Trial) error {
	return asFeslPlayer(ctx, t, func(ctx context.Context, ticket fesl.Ticket) error {
		c, err := connect(ctx, t)
		if err != nil {
			return fmt.Errorf("gpcm: %w", err)
		}
		defer func() { _ = c.Close() }()
		if err := c.Login(ctx, gpcm.Login{By: "authtoken", Name: ticket.Value, Password: ticket.Challenge, Game: t.Game}); err != nil {
			return fmt.Errorf("gpcm does not take the ticket: %w", err)
		}
		return nil
	})
}

// theaterGame offers a game in EA's list and looks for it there.
func theaterGame(ctx context.Context, t *service.Trial) error {
	return asFeslPlayer(ctx, t, func(ctx context.Context, ticket fesl.Ticket) error {
		conn, err := netclient.DialTCP(ctx, t.Address("theater"))
		if err != nil {
			return err
		}
		c := theater.NewClient(conn)
		defer func() { _ = c.Close() }()
		if _, err := c.Hello(ctx, "selftest"); err != nil {
			return err
		}
		if err := c.Enter(ctx, ticket.Key); err != nil {
			return fmt.Errorf("the session key of fesl is refused: %w", err)
		}
		if _, err := c.Host(ctx, t.Name, 3000, 2); err != nil {
			return fmt.Errorf("no game can be offered: %w", err)
		}
		list, err := c.List(ctx)
		if err == nil && !slices.ContainsFunc(list, func(g wire.Text) bool { return g.Get("N") == t.Name }) {
			err = service.ErrNotInList
		}
		return err
	})
}

// asFeslPlayer makes an account with a persona as games of EA do, and calls use with what such a game
// has then.
func asFeslPlayer(ctx context.Context, t *service.Trial, use func(context.Context, fesl.Ticket) error) (err error) {
	all, err := t.Accounts(ctx)
	if err != nil {
		return err
	}
	persona := "st" + strings.ToLower(rand.Text()[:12])
	email, password := persona+"@selftest.invalid", rand.Text()[:16]
	if exists, err := all.Exists(ctx, email); exists || err != nil {
		return errors.Join(errCannotLook, err)
	}
	ctx = netclient.Bound(ctx, 2*service.StepTimeout)
	conn, err := netclient.DialTCP(ctx, t.Address("fesl"))
	if err != nil {
		return err
	}
	game := fesl.NewClient(conn)
	defer func() { _ = game.Close() }()
	if _, err := game.Hello(ctx, "selftest"); err != nil {
		return err
	}
	if err := game.Register(ctx, email, password, persona); err != nil {
		return fmt.Errorf("new account: %w", err)
	}
	defer func() { err = errors.Join(err, deleteAccount(ctx, all, email)) }()
	ticket, err := game.Play(ctx, email, password, persona)
	if err != nil {
		return fmt.Errorf("sign-in: %w", err)
	}
	return use(ctx, ticket)
}

// makeAccount makes an account as a game does. It returns its profile too.
func makeAccount(ctx context.Context, t *service.Trial, all service.TrialAccounts) (a gpsp.Account, profile string, err error) {
	name := "st" + strings.ToLower(rand.Text()[:14])
	a = gpsp.Account{Email: name + "@selftest.invalid", Nick: name, Password: rand.Text()[:16], Game: t.Game}
	// Without the API the account could not be deleted afterwards.
	if exists, err := all.Exists(ctx, a.Email); exists || err != nil {
		return a, "", errors.Join(errCannotLook, err)
	}
	ctx = netclient.Bound(ctx, service.StepTimeout)
	conn, err := netclient.DialTCP(ctx, t.Address("gpsp"))
	if err != nil {
		return a, "", fmt.Errorf("gpsp: %w", err)
	}
	c := gpsp.NewClient(conn)
	defer func() { _ = c.Close() }()
	if profile, err = c.Register(ctx, a); err != nil {
		err = fmt.Errorf("gpsp: %w", err)
	}
	return a, profile, err
}

func deleteAccount(ctx context.Context, all service.TrialAccounts, email string) error {
	if err := all.Delete(ctx, email); err != nil {
		return fmt.Errorf("the test account %s was not deleted: %w", email, err)
	}
	return nil
}

// talk lets a ask b to become a buddy, b agree, and a send a message to b.
func talk(ctx context.Context, a, b *gpcm.Client) error {
	if err := a.AskBuddy(b.Profile, "selftest"); err != nil {
		return err
	}
	if err := b.Accept(ctx, a.Profile); err != nil {
		return fmt.Errorf("the request of a buddy did not come: %w", err)
	}
	if _, err := a.AwaitMessage(ctx, gpcm.MessageAccepted, b.Profile); err != nil {
		return fmt.Errorf("the answer to the request did not come: %w", err)
	}
	text := "hello " + rand.Text()
	if err := a.Message(b.Profile, text); err != nil {
		return err
	}
	got, err := b.AwaitMessage(ctx, gpcm.MessageText, a.Profile)
	if err != nil {
		return fmt.Errorf("the message of a buddy did not come: %w", err)
	}
	if got != text {
		return fmt.Errorf("the message of a buddy came as %q, want %q", got, text)
	}
	return nil
}
