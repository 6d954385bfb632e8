package peerchat

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/nettest"
)

func TestParseServerLine(t *testing.T) {
	for text, want := range map[string]Line{
		":s 322 me #c 0 :":                   {"s", "322", []string{"me", "#c", "0", ""}},
		":s 302  :=+@203.0.113.7":            {"s", "302", []string{"=+@203.0.113.7"}},
		":Ann!X|1@h PRIVMSG #c :hello :you ": {"Ann!X|1@h", "PRIVMSG", []string{"#c", "hello :you"}},
		":Ann!X|1@h MODE #c -i+l 8  ":        {"Ann!X|1@h", "MODE", []string{"#c", "-i+l", "8"}},
		"PING :x y":                          {"", "PING", []string{"x y"}},
		":s":                                 {From: "s"},
		"":                                   {},
		" :":                                 {Params: []string{""}},
	} {
		got := parseServerLine(text)
		if diff := cmp.Diff(want, got); diff != "" && len(want.Params)+len(got.Params) > 0 {
			t.Errorf("parseServerLine(%q) (-want +got):\n%s", text, diff)
		}
	}
}

// recited returns a client whose service sends lines and nothing more. heard closes the
// client and returns the bytes it sent.
func recited(t *testing.T, lines string) (c *Client, heard func() string) {
	t.Helper()
	conn, heard := nettest.Recite(t, lines)
	return NewClient(conn), heard
}

func TestClient(t *testing.T) {
	const signOn = ":s 302  :=+@203.0.113.7\r\n:s 001 Ann :Welcome\r\n"
	join := func(ctx context.Context, c *Client) error {
		c.Nick = "Ann"
		_, err := c.Join(ctx, "#c", "")
		return err
	}
	keys := func(ctx context.Context, c *Client) error {
		c.Nick = "Ann"
		_, err := c.MemberKeys(ctx, "#c", "Ann", "a")
		return err
	}
	encrypt := func(ctx context.Context, c *Client) error { return c.Encrypt(ctx, "gmtest", "HA6zkS") }
	logIn := func(ctx context.Context, c *Client) error { return c.LogIn(ctx, 1, "Ann", "pw") }
	on := func(ctx context.Context, c *Client) error { return c.SignOn(ctx, "Ann") }
	for name, tc := range map[string]struct {
		lines string
		do    func(context.Context, *Client) error
		want  error
		text  string // part of the error
	}{
		"sign on":                  {lines: signOn, do: on},
		"motd before the welcome":  {lines: ":s 422 Ann :none\r\nPING :x\r\n" + signOn, do: on},
		"closed at once":           {do: on, want: io.EOF},
		"banned":                   {lines: "ERROR :Closing Link: (You are banned)\r\n", do: on, want: ErrClosed, text: "banned"},
		"no address":               {lines: ":s 302  :=+\r\n", do: on, text: "no address"},
		"empty address":            {lines: ":s 302\r\n", do: on, text: "no address"},
		"nick in use":              {lines: ":s 302  :=+@1.2.3.4\r\n:s 433 * Ann :In use\r\n", do: on, want: ErrRefused, text: "In use"},
		"welcome without text":     {lines: ":s 302  :=+@1.2.3.4\r\n:s 001 Ann\r\n", do: on, text: "1 parameters"},
		"no end of line":           {lines: strings.Repeat("x", netclient.MaxLine), do: on, want: netclient.ErrLineTooLong},
		"unknown game":             {lines: "ERROR :Closing Link: (Unknown game)\r\n", do: encrypt, want: ErrClosed},
		"one challenge":            {lines: ":s 705 * a\r\n", do: encrypt, text: "2 parameters"},
		"empty challenges":         {lines: ":s 705\r\n", do: encrypt, text: "0 parameters"},
		"logged in":                {lines: ":s 707 Ann 1 2\r\n", do: logIn},
		"login refused":            {lines: ":s 708 * :No\r\n", do: logIn, want: ErrRefused, text: `"No"`},
		"login without profile":    {lines: ":s 707 Ann\r\n", do: logIn, text: "1 parameters"},
		"joined":                   {lines: ":s 353 Ann = #c :@Ann\r\n:s 366 Ann #c :End\r\n", do: join},
		"joined another channel":   {lines: ":s 366 Ann #d :End\r\n", do: join, want: io.EOF},
		"channel full":             {lines: ":s 471 Ann #c :Full\r\n", do: join, want: ErrRefused, text: "471"},
		"members without an end":   {lines: ":s 353 Ann = #c :@Ann\r\n", do: join, want: io.EOF},
		"keys":                     {lines: ":s 702 Ann #c Ann 321 :\\v\r\n", do: keys},
		"keys of another":          {lines: ":s 702 Ann #c Ben 321 :\\v\r\n", do: keys, want: io.EOF},
		"keys without a backslash": {lines: ":s 702 Ann #c Ann 321 :v\r\n", do: keys, want: io.EOF},
		"short keys":               {lines: ":s 702 Ann\r\n", do: keys, want: io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := recited(t, tc.lines)
			err := tc.do(t.Context(), c)
			switch {
			case tc.want == nil && tc.text == "" && err == nil:
			case err == nil || !errors.Is(err, tc.want) && tc.want != nil || !strings.Contains(err.Error(), tc.text):
				t.Errorf("error %v, want %v with %q", err, tc.want, tc.text)
			}
		})
	}
}

func TestClient_sends(t *testing.T) {
	c, heard := recited(t, "PING :1 2\r\n:s 302  :=+@127.0.0.1\r\n:s 001 Ann-gs :Welcome\r\n:s 332 Ann-gs #c :A room\r\n"+
		":s 353 Ann-gs = #c :@Ben +Cid\r\n:s 353 Ann-gs = #c :Ann-gs\r\n:s 366 Ann-gs #c :End\r\n:s 702 Ann-gs #c Ben 321 :\\s\\\r\n")
	c.Profile = "100001"
	if err := c.SignOn(t.Context(), "*"); err != nil || c.Nick != "Ann-gs" || c.Address.String() != "127.0.0.1" {
		t.Fatalf("SignOn: %v, as %q from %v", err, c.Nick, c.Address)
	}
	j, err := c.Join(t.Context(), "#c", "")
	if diff := cmp.Diff(Joined{"A room", []string{"@Ben", "+Cid", "Ann-gs"}}, j); err != nil || diff != "" {
		t.Errorf("Join: %v (-want +got):\n%s", err, diff)
	}
	if v, err := c.MemberKeys(t.Context(), "#c", "Ben", "b_flags", "none"); err != nil || !slices.Equal(v, []string{"s", ""}) {
		t.Errorf("MemberKeys: %q, %v", v, err)
	}
	for _, err := range []error{
		c.Say("#c", "hello there"), c.Tell("#c", "GML x"), c.SetMemberKeys("#c", "Ann-gs", "b_flags", "sh"),
		c.SetTopic("#c", ""), c.Part("#c", "bye"), c.Quit("Later!"),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	want := "USRIP\r\nPONG :1 2\r\nUSER X1lsaFvqsX|100001 127.0.0.1 peerchat.gamespy.com :respawnd\r\nNICK *\r\nJOIN #c \r\n" +
		"GETCKEY #c Ben 321 0 :\\b_flags\\none\r\nPRIVMSG #c :hello there\r\nUTM #c :GML x\r\n" +
		"SETCKEY #c Ann-gs :\\b_flags\\sh\r\nTOPIC #c :\r\nPART #c :bye\r\nQUIT :Later!\r\n"
	if diff := cmp.Diff(want, heard()); diff != "" {
		t.Errorf("lines of the client (-want +got):\n%s", diff)
	}
}

// TestClient_Encrypt talks to a service that enciphers with the challenges of a
// recording.
func TestClient_Encrypt(t *testing.T) {
	ours, theirs := net.Pipe()
	got := make(chan string, 1)
	go func() {
		defer close(got)
		r := bufio.NewReader(theirs)
		if line, err := r.ReadString('\n'); line != "CRYPT des 1 gmtest\r\n" {
			t.Errorf("first line %q, %v", line, err)
			return
		}
		_, _ = io.WriteString(theirs, ":s 705 * 0123456789abcdef fedcba9876543210\r\n")
		in, out := newCipher("0123456789abcdef", "HA6zkS"), newCipher("fedcba9876543210", "HA6zkS")
		b := make([]byte, len("USRIP\r\n"))
		_, _ = io.ReadFull(r, b)
		in.apply(b)
		got <- string(b)
		answer := []byte(":s 302  :=+@127.0.0.1\r\n")
		out.apply(answer)
		_, _ = theirs.Write(answer)
	}()
	c := NewClient(ours)
	defer func() { _ = c.Close() }()
	if err := c.Encrypt(t.Context(), "gmtest", "HA6zkS"); err != nil {
		t.Fatal(err)
	}
	if err := c.Send("USRIP"); err != nil {
		t.Fatal(err)
	}
	if line := <-got; line != "USRIP\r\n" {
		t.Errorf("the service deciphered %q", line)
	}
	if l, err := c.Next(t.Context()); err != nil || !l.Is("302", "=+@127.0.0.1") {
		t.Errorf("answer %v, %v", l, err)
	}
}
