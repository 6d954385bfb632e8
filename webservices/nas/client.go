package nas

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/respawnd/respawnd/internal/netclient"
)

// Client is a console: for the self-test, load and tests.
type Client struct {
	Address string // of the web services, host:port
	Domain  string // of the hosts; empty: nintendowifi.net
}

// NintendoDomain is the domain that consoles ask under.
const NintendoDomain = "nintendowifi.net"

// Answer is the answer to a request.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// maxAnswer bounds an answer in bytes.
const maxAnswer = maxFileSize + 1

// Get requests the page of the connection test.
func (c *Client) Get(ctx context.Context, label, path string) (Answer, error) {
	return c.exchange(ctx, "GET", label, path, "")
}

// Post sends a form.
func (c *Client) Post(ctx context.Context, label, path string, f Form) (Answer, error) {
	return c.exchange(ctx, "POST", label, path, string(f.Append(nil)))
}

// exchange sends a request as some games do, with two Host lines, and reads the answer.
func (c *Client) exchange(ctx context.Context, method, label, path, body string) (a Answer, err error) {
	domain := cmp.Or(c.Domain, NintendoDomain)
	host := "Host: " + label + "." + domain + "\r\n"
	head := method + " " + path + " HTTP/1.1\r\n" + host + "User-Agent: Nitro WiFi SDK/2.0\r\n" + host
	if method == "POST" {
		head += fmt.Sprintf("Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n", len(body))
	}
	conn, err := netclient.DialTCP(ctx, c.Address)
	if err != nil {
		return a, err
	}
	defer func() { _ = conn.Close() }()
	by, _ := ctx.Deadline() // zero: for ever
	if err := conn.SetDeadline(by); err != nil {
		return a, err
	}
	if _, err := io.WriteString(conn, head+"\r\n"+body); err != nil {
		return a, err
	}
	r, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return a, err
	}
	defer func() { _ = r.Body.Close() }()
	a = Answer{Status: r.StatusCode, Header: r.Header}
	a.Body, err = io.ReadAll(io.LimitReader(r.Body, maxAnswer))
	return a, err
}

// ErrRefused is matched by the error of Ask for a return code that is an error.
var ErrRefused = errors.New("the service refuses the console")

// Ask sends a form to /ac or /pr and returns the reply.
func (c *Client) Ask(ctx context.Context, path string, f Form) (Form, error) {
	a, err := c.Post(ctx, hostNAS, path, f)
	if err != nil {
		return nil, err
	}
	if a.Status != http.StatusOK {
		return nil, fmt.Errorf("the answer has status %d", a.Status)
	}
	reply, err := ParseForm(a.Body)
	if err != nil {
		return nil, err
	}
	if code, _ := reply.Text("returncd"); len(code) != 3 || !strings.HasPrefix(code, "0") {
		return reply, fmt.Errorf("%w: code %.8q", ErrRefused, code)
	}
	return reply, nil
}

// Make asks for a user id and returns the login of a new Wii with it.
func (c *Client) Make(ctx context.Context, game string) (login Form, err error) {
	made, err := c.Ask(ctx, "/ac", Form{{"action", []byte("acctcreate")}, {"gamecd", []byte(game)}, {"unitcd", []byte("1")}})
	if err != nil {
		return nil, err
	}
	return Form{
		{"action", []byte("login")},
		{"gsbrcd", []byte(game)},
		{"userid", made.Value("userid")},
		{"gamecd", []byte(game)},
		{"unitcd", []byte("1")},
		{"macadr", []byte("0017ab000001")},
		{"lang", []byte("01")},
		{"region", []byte("02")},
		{"cfc", []byte("1234567890123456")},
	}, nil
}

// SignIn signs a console in and returns its token and the challenge that belongs to it.
func (c *Client) SignIn(ctx context.Context, login Form) (token, challenge string, err error) {
	reply, err := c.Ask(ctx, "/ac", login)
	if err != nil {
		return "", "", err
	}
	token, _ = reply.Text("token")
	challenge, _ = reply.Text("challenge")
	if token == "" || challenge == "" {
		return "", "", errors.New("the reply has no token")
	}
	return token, challenge, nil
}
