package webservices

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strings"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/webservices/auth"
	"github.com/respawnd/respawnd/webservices/bfhq"
	"github.com/respawnd/respawnd/webservices/competition"
	"github.com/respawnd/respawnd/webservices/nas"
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

// checkPages asks for a newer version and for a file that does not exist, as games do.
func checkPages(ctx context.Context, t *service.Trial) error {
	ctx, cancel := context.WithTimeout(ctx, service.StepTimeout)
	defer cancel()
	_, body, err := getPage(ctx, t.Address(name), "motd."+t.Domain, "/motd/vercheck.asp?distid=0&gamename="+t.Game)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(body, `\newver\`) {
		return fmt.Errorf("the answer about a newer version is %.40q", body)
	}
	header, _, err := getPage(ctx, t.Address(name), t.Game+".sake."+t.Domain, "/SakeFileServer/download.aspx?fileid=0&gameid=0&pid=0")
	if err != nil {
		return err
	}
	if result := header.Get("Sake-File-Result"); result != "4" {
		return fmt.Errorf("the download of a file that does not exist has the result %q", result)
	}
	// Games wait for an answer to everything, and for the end of its connection.
	answer, err := openPage(ctx, t.Address(name), t.Domain, "/selftest")
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusNotFound || !answer.Close {
		return fmt.Errorf("a path that does not exist is answered with %q, and the connection ends: %v", answer.Status, answer.Close)
	}
	return nil
}

func getPage(ctx context.Context, address, host, path string) (http.Header, string, error) {
	answer, err := openPage(ctx, address, host, path)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 4<<10))
	return answer.Header, string(body), err
}

// openPage is getPage without reading the body, which the caller closes. The request leaves it to the
// service to end the connection.
func openPage(ctx context.Context, address, host, path string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	r.Host = host
	client := http.Client{Transport: &http.Transport{IdleConnTimeout: service.StepTimeout, DialContext: netclient.Connect}}
	return client.Do(r)
}

// checkPlayerPages asks for pages of a game's players as the game does, if a game of the
// catalogue has them: one that needs no player, and that of a player who does not exist.
func checkPlayerPages(ctx context.Context, t *service.Trial) error {
	ctx, cancel := context.WithTimeout(ctx, service.StepTimeout)
	defer cancel()
	info, there, err := playerPage(ctx, t, "getbackendinfo.aspx")
	if err != nil {
		return err
	}
	if !there {
		t.Remark("no game has pages of its players")
		return nil
	}
	if _, ok := info.Value("name"); info.Failed || !ok {
		return fmt.Errorf("the page of weapons is %.60q", info.AppendTo(nil))
	}
	rank, _, err := playerPage(ctx, t, "getrankinfo.aspx?pid=2147483647")
	if err != nil {
		return err
	}
	if !rank.Failed {
		return fmt.Errorf("a player who does not exist has the page %.60q", rank.AppendTo(nil))
	}
	return nil
}

// playerPage requests a page. there is false if no game has it.
func playerPage(ctx context.Context, t *service.Trial, file string) (a bfhq.Answer, there bool, err error) {
	answer, err := openPage(ctx, t.Address(name), "bf2web."+t.Domain, "/ASP/"+file)
	if err != nil {
		return a, false, err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode == http.StatusNotFound {
		return a, false, nil
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, 16<<10))
	if err != nil {
		return a, true, err
	}
	if a, err = bfhq.ParseAnswer(string(text)); err != nil {
		return a, true, fmt.Errorf("%s: status %d: %w: %.60q", file, answer.StatusCode, err, text)
	}
	return a, true, nil
}

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
