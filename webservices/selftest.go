package webservices

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/webservices/auth"
	"github.com/respawnd/respawnd/webservices/competition"
)

// steps are the steps of the self-test.
func (c *Config) steps() []service.Step {
	steps := []service.Step{
		{Name: "webservices sign-in", Needs: []string{name}, Order: service.OrderAlone, Run: check},
		{Name: "webservices SSL 3.0", Needs: []string{name, tlsListen}, Order: service.OrderAlone, Run: checkSecure},
		{Name: "webservices files", Needs: []string{name}, Order: service.OrderAlone, Run: checkPages},
		{Name: "webservices BFHQ", Needs: []string{name}, Order: service.OrderAlone, Run: checkPlayerPages},
		{Name: "match report", Needs: []string{name}, Order: service.OrderPlayers, Lasting: true, Run: c.reportMatch},
	}
	if c.NAS {
		steps = append(steps, service.Step{Name: "Nintendo's sign-in", Needs: []string{name}, Order: service.OrderPlayers, Lasting: true, Run: c.checkConsole})
	}
	return steps
}

// check signs in with a name that no player has, and a key that is not that of the
// service. The refusal passes.
func check(ctx context.Context, t *service.Trial) error {
	return signInUnknown(ctx, authHost(t), t.Address(name), false)
}

// checkSecure is check over SSL 3.0.
func checkSecure(ctx context.Context, t *service.Trial) error {
	return signInUnknown(ctx, authHost(t), t.Address(tlsListen), true)
}

// authHost returns the name under which the trial game signs in.
func authHost(t *service.Trial) string { return t.Game + ".auth.pubsvs." + t.Domain }

// signInUnknown is check for a host name at an address.
func signInUnknown(ctx context.Context, host, address string, secure bool) error {
	ctx, cancel := context.WithTimeout(ctx, service.StepTimeout)
	defer cancel()
	c := &Client{Address: address, Host: host, Secure: secure}
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 1023))
	if err != nil {
		return err
	}
	key := &rsa.PublicKey{N: n.SetBit(n.SetBit(n, 1023, 1), 0, 1), E: 65537}
	_, _, err = c.SignIn(ctx, key, "selftest-player", "selftest")
	if errors.Is(err, ErrSignIn) {
		return nil
	}
	if err == nil {
		return errors.New("a player that does not exist was signed in")
	}
	return err
}

// reportMatch creates an account as games do, reports a match of its player, and deletes
// both.
func (c *Config) reportMatch(ctx context.Context, t *service.Trial) (err error) {
	all, err := t.Accounts(ctx)
	if err != nil {
		return err
	}
	nick := "st" + strings.ToLower(rand.Text()[:14])
	a := Account{Email: nick + "@selftest.invalid", Nick: nick, UniqueNick: nick, Password: rand.Text()[:16]}
	// Without the API the account could not be deleted afterwards.
	if exists, err := all.Exists(ctx, a.Email); exists || err != nil {
		return errors.Join(errors.New("admin: looking for an account that does not exist"), err)
	}
	client := Client{Address: t.Address(name), Host: authHost(t)}
	key, err := c.publicKey(t.DataDir)
	if err != nil {
		return err
	}
	who, err := client.CreateAccount(netclient.Bound(ctx, service.StepTimeout), key, a)
	if err != nil {
		return fmt.Errorf("new account: %w", err)
	}
	defer func() {
		if gone := all.Delete(ctx, a.Email); gone != nil {
			err = errors.Join(err, fmt.Errorf("the test account %s was not deleted: %w", a.Email, gone))
		}
	}()
	client.Host = t.Game + ".comp.pubsvs." + t.Domain
	session, err := client.ReportAlone(func() context.Context { return netclient.Bound(ctx, service.StepTimeout) }, who)
	if err != nil {
		return err
	}
	if err := all.DeleteMatch(ctx, t.Game, session); err != nil {
		return fmt.Errorf("the test match %s was not deleted: %w", session, err)
	}
	return nil
}

// publicKey returns the key with which games encrypt passwords, nil if they do not.
func (c *Config) publicKey(dataDir string) (*rsa.PublicKey, error) {
	if c.RSAMode == Identity {
		return nil, nil
	}
	k, err := auth.ReadKey(c.KeyPath(dataDir))
	if err != nil {
		return nil, fmt.Errorf("webservices.key_file: %w", err)
	}
	return k.Public(), nil
}

// ReportAlone reports a match of one player, who wins it, and returns the id of its session.
// bound returns the context of the next of its three requests.
func (c *Client) ReportAlone(bound func() context.Context, who Player) (session string, err error) {
	made, err := c.Match(bound(), who, "CreateSession", nil, "gameid", "0")
	if err != nil {
		return "", err
	}
	session = made.Text("csid")
	intention, err := c.Match(bound(), who, "SetReportIntention", nil, "csid", session, "ccid", "", "gameid", "0", "authoritative", "1")
	if err != nil {
		return "", err
	}
	conn, ok := competition.ParseGUID(intention.Text("ccid"))
	if !ok {
		return "", fmt.Errorf("the id of a connection is %.60q", intention.Text("ccid"))
	}
	report := competition.Report{Developer: 1, Players: []competition.Player{{Conn: conn, Values: []competition.Value{{Key: 1, Int: 1}}}}}
	_, err = c.Match(bound(), who, "SubmitReport", report.Append(nil), "csid", session, "ccid", conn.String(), "gameid", "0", "authoritative", "1")
	return session, err
}
