package webservices

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/webservices/auth"
	"github.com/respawnd/respawnd/webservices/nas"
)

// trialGame is the code of a game that no console has.
const trialGame = "0ST0"

// checkConsole is a console of Nintendo: it tests the connection, signs in, which makes an
// account, uses its token and looks for files. The account is deleted.
func (c *Config) checkConsole(ctx context.Context, t *service.Trial) (err error) {
	console := nas.Client{Address: t.Address(name)}
	bound := func() context.Context { return netclient.Bound(ctx, service.StepTimeout) } // one answer
	page, err := console.Get(bound(), "conntest", "/")
	if err != nil {
		return err
	}
	if page.Header.Get("X-Organization") != "Nintendo" {
		return fmt.Errorf("the answer to the connection test has status %d and is not the one that consoles expect", page.Status)
	}
	if err := checkFiles(bound(), &console); err != nil {
		return err
	}
	all, err := t.Accounts(ctx)
	if err != nil {
		return err
	}
	login, err := console.Make(bound(), trialGame)
	if err != nil {
		return err
	}
	email, ok := c.AccountOf(login)
	if !ok {
		return errors.New("the user id of a new console is not one")
	}
	// Without the API the account could not be deleted afterwards.
	if exists, err := all.Exists(ctx, email); exists || err != nil {
		return errors.Join(errors.New("admin: looking for an account that does not exist"), err)
	}
	token, challenge, err := console.SignIn(bound(), login)
	if errors.Is(err, nas.ErrRefused) && !c.NASNewConsoles {
		t.Remark("new consoles are not accepted")
		return nil
	}
	if err != nil {
		return err
	}
	defer func() {
		if gone := all.Delete(ctx, email); gone != nil {
			err = errors.Join(err, fmt.Errorf("the test account %s was not deleted: %w", email, gone))
		}
	}()
	game := Client{Address: t.Address(name), Host: t.Game + ".auth.pubsvs." + t.Domain}
	return game.SignInWithToken(bound(), token, challenge)
}

// checkFiles looks for the files of a game that has none.
func checkFiles(ctx context.Context, console *nas.Client) error {
	count, err := console.Post(ctx, "dls1", "/download", nas.Form{{Name: "action", Value: []byte("count")}, {Name: "gamecd", Value: []byte(trialGame)}})
	if err == nil && string(count.Body) != "0" {
		err = fmt.Errorf("a game without files has %.20q", count.Body)
	}
	return err
}

// SignInWithToken signs in with a token that another service issued.
func (c *Client) SignInWithToken(ctx context.Context, token, challenge string) error {
	var fields strings.Builder
	writeField(&fields, "authtoken", token)
	writeField(&fields, "challenge", challenge)
	const method = "LoginRemoteAuth"
	e, err := c.Call(ctx, auth.Path, auth.Namespace, method,
		"<ns1:version>1</ns1:version><ns1:partnercode>0</ns1:partnercode><ns1:namespaceid>1</ns1:namespaceid>"+fields.String())
	if err != nil {
		return err
	}
	if code := e.Child(method + "Result").Text("responseCode"); code != "0" {
		return fmt.Errorf("%w: code %.8q", ErrSignIn, code)
	}
	return nil
}
