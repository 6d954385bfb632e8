package webservices

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/webservices/auth"
	"github.com/respawnd/respawnd/webservices/soap"
)

// serving is a server that listens on the loopback address.
type serving struct {
	*Server
	address  string
	accounts *accounts.Service
	profile  accounts.Registration
}

// serve starts a server with the recorded key and the player of the recordings.
func serve(t *testing.T, mode string) *serving {
	t.Helper()
	dir := t.TempDir()
	store := storetest.New(t)
	all, err := accounts.Open(t.Context(), store, accounts.Options{KeyFile: filepath.Join(dir, "account.key")})
	if err != nil {
		t.Fatal(err)
	}
	s := &serving{accounts: all, profile: accounts.Registration{
		Namespace: 1, Email: "a@b.com", Nick: "MyNick", UniqueNick: "uniqueguy", Password: "secretpw",
	}}
	text, err := os.ReadFile(filepath.Join("auth", "testdata", "service.key"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, auth.KeyName)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	key, err := auth.OpenKey(file)
	if err != nil {
		t.Fatal(err)
	}
	_, opt := newTestServer(t, func(o *Options) { o.Metrics, o.Registerer = nil, nil })
	opt.Config.MaxConns, opt.Config.MaxPerAddr = 4096, 256 // the defaults
	opt.Config.RSAMode, opt.Key, opt.Accounts, opt.Store = mode, key, all, store
	if s.Server, err = New(*opt); err != nil {
		t.Fatal(err)
	}
	takeTime(s.Server)
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = ln.Addr().String()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, ln) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, store.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// raw sends bytes, closes that direction unless open is true, and returns the reply up
// to the end of the connection.
func (s *serving) raw(t *testing.T, request []byte, open bool) []byte {
	t.Helper()
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp4", s.address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(hang)); err != nil {
		t.Fatal(err)
	}
	_, _ = conn.Write(request) // the server may close before it has all
	if !open {
		_ = conn.(*net.TCPConn).CloseWrite()
	}
	answer, err := io.ReadAll(conn)
	if err != nil && len(answer) == 0 {
		t.Fatal(err)
	}
	return answer
}

// TestRecordedRequests sends the requests of the original client as they were
// recorded, and compares the elements of the replies with those that it accepted.
func TestRecordedRequests(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("auth", "testdata", "requests.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Requests []struct {
			Action, Response, Password string
			Head                       string `json:"request_head"`
			Body                       string `json:"request_body"`
			Identity                   bool
		}
	}
	if err := json.Unmarshal(text, &file); err != nil || len(file.Requests) != 8 {
		t.Fatalf("%d recordings, %v", len(file.Requests), err)
	}
	for i, r := range file.Requests {
		t.Run(fmt.Sprintf("%d %s", i, r.Action), func(t *testing.T) {
			s := serve(t, map[bool]string{false: Keypair, true: Identity}[r.Identity])
			want := parse(t, []byte(r.Response))
			if sent := parse(t, []byte(r.Body)); sent.Text("email") != "" {
				s.profile.Email, s.profile.Nick = sent.Text("email"), sent.Text("profilenick")
			}
			if !strings.HasPrefix(r.Password, "(") && r.Password != "wrong" && r.Password != "" {
				s.profile.Password = r.Password
			}
			p, err := s.accounts.Users.Register(t.Context(), s.profile)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case r.Action == "LoginRemoteAuth": // the partner of the account does not matter, but tokens are ours
				token := s.accounts.Grants.IssueToken(p.ID, 0, true)
				body := strings.NewReplacer("AUTHTOKEN", token.Value, "CHALLENGE", token.Challenge).Replace(r.Body)
				r.Head = strings.Replace(r.Head, fmt.Sprintf("Length: %d", len(r.Body)), fmt.Sprintf("Length: %d", len(body)), 1)
				r.Body = body
			case r.Action == "LoginPs3Cert":
				want = refusal(r.Action, "7")
			case strings.HasPrefix(r.Password, "("): // encrypted for another key
				want = refusal(r.Action, "3")
			}
			answer := s.raw(t, []byte(r.Head+"\r\n\r\n"+r.Body), true)
			head, body, _ := bytes.Cut(answer, []byte("\r\n\r\n"))
			for _, part := range []string{"HTTP/1.1 200 OK", "Content-Type: text/xml; charset=utf-8", "Connection: close", fmt.Sprintf("Content-Length: %d", len(body))} {
				if !bytes.Contains(head, []byte(part)) {
					t.Errorf("header %q, want %q in it", head, part)
				}
			}
			if diff := cmp.Diff(shape(want), shape(parse(t, body))); diff != "" {
				t.Errorf("elements, -recorded +reply:\n%s", diff)
			}
		})
	}
}

// refusal is a reply with a result alone.
func refusal(method, code string) *soap.Element {
	return &soap.Element{Name: method + "Response", Children: []*soap.Element{
		{Name: method + "Result", Children: []*soap.Element{{Name: "responseCode", Value: code}}},
	}}
}

func parse(t *testing.T, body []byte) *soap.Element {
	t.Helper()
	e, err := soap.Parse(body)
	if err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return e
}

// shape returns the names of all elements in their order, with the length of hex
// texts and the values that do not depend on the server.
func shape(e *soap.Element) (out []string) {
	line := e.Name
	switch e.Name {
	case "responseCode", "length", "version", "profilenick", "peerkeyexponent":
		line += " " + e.Value
	case "peerkeymodulus", "serverdata", "signature":
		line += fmt.Sprintf(" of %d", len(e.Value))
	}
	out = append(out, line)
	for _, c := range e.Children {
		out = append(out, shape(c)...)
	}
	return out
}

// TestBadRequests sends requests that no client sends, over a socket: each gets an
// answer, and the connection is closed.
func TestBadRequests(t *testing.T) {
	s := serve(t, Keypair)
	head := func(length int) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: gmtest.auth.pubsvs.gamespy.com\r\nContent-Length: %d\r\nSOAPAction: \"x/LoginProfile\"\r\n\r\n", auth.Path, length)
	}
	whole := envelope("<LoginProfile/>")
	laughs := `<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "` + strings.Repeat("l", 100) + `"><!ENTITY b "&a;&a;&a;">]>` + envelope("<LoginProfile>&b;</LoginProfile>")
	for name, test := range map[string]struct {
		request string
		open    bool
		status  int
	}{
		"length too large, complete": {head(len(whole)+1000) + whole, true, 200},
		"length too small":           {head(len(whole)-40) + whole, true, 200},
		"cut off":                    {head(1000) + whole[:20], false, 200},
		"no body":                    {head(0), true, 200},
		"10 MiB announced":           {head(10<<20) + whole, true, 200},
		"10 MiB chunked":             {"POST " + auth.Path + " HTTP/1.1\r\nHost: a.auth.pubsvs.b\r\nTransfer-Encoding: chunked\r\n\r\na00000\r\n" + strings.Repeat("x", 200_000), false, 200},
		"billion laughs":             {head(len(laughs)) + laughs, true, 200},
		"deep":                       {head(60_000) + strings.Repeat("<a>", 20_000), true, 200},
		"no host":                    {"POST " + auth.Path + " HTTP/1.1\r\n\r\n", true, 400},
		"header too long":            {"GET / HTTP/1.1\r\nHost: " + strings.Repeat("x", 1<<17) + "\r\n\r\n", true, 431},
		"not HTTP":                   {"\x16\x03\x00\x00\x2d\x01\x00\x00\r\n\r\n", true, 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := s.raw(t, []byte(test.request), test.open)
			r, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(answer)), nil)
			if err != nil {
				t.Fatalf("%v in %.200q", err, answer)
			}
			defer func() { _ = r.Body.Close() }()
			if r.StatusCode != test.status {
				t.Errorf("status %d, want %d", r.StatusCode, test.status)
			}
			if body, _ := io.ReadAll(r.Body); test.status == 200 && !bytes.Contains(body, []byte("<responseCode>7</responseCode>")) {
				t.Errorf("body %s", body)
			}
		})
	}
}

// TestManyConnections opens as many connections from one address as the defaults
// allow.
func TestManyConnections(t *testing.T) {
	if testing.Short() {
		t.Skip("opens many connections")
	}
	s := serve(t, Keypair)
	const n = 150
	results := make(chan error, n)
	c := &Client{Address: s.address, Host: "gmtest.auth.pubsvs.gamespy.com"}
	for range n {
		go func() {
			_, err := c.Call(t.Context(), auth.Path, auth.Namespace, "LoginProfile", "")
			results <- err
		}()
	}
	for range n {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}
