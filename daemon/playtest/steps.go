package playtest

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/respawnd/respawnd/gpcm"
	"github.com/respawnd/respawnd/gpsp"
	"github.com/respawnd/respawnd/gstats"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/quake3"
	"github.com/respawnd/respawnd/mangler"
	"github.com/respawnd/respawnd/master/legacylist"
	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/natneg"
	"github.com/respawnd/respawnd/peerchat"
	"github.com/respawnd/respawnd/q3master"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/utmaster"
	"github.com/respawnd/respawnd/valvemaster"
	"github.com/respawnd/respawnd/webservices/nas"
)

// steps are in the order in which games take them.
var steps = []step{
	{"qr2", "UDP", false, "the game says that its online service is not available, and your own server is not listed", register},
	{"serverbrowse", "TCP", false, "the server browser of the game stays empty", browse},
	{"legacylist", "TCP", false, "the server browser of the game stays empty", browseOld},
	{"q3master", "UDP", true, "the server browser of the game stays empty", browseQuake},
	{"utmaster", "TCP", true, "the server browser of the game stays empty", browseEpic},
	{"idmaster", "UDP", true, "the server browser of the game stays empty, and your key is not accepted", browseDoom},
	{"codmaster", "UDP", true, "the server browser of the game stays empty, and servers let no players in", browseCoD},
	{"nwmaster", "UDP", true, "your account and CD keys are not accepted", signInNWN},
	{"valvemaster", "UDP", true, "the server browser of the game stays empty", browseValve},
	{"gpcm", "TCP", false, "you cannot sign in", greet},
	{"gpsp", "TCP", false, "the game finds and makes no accounts", search},
	{"peerchat", "TCP", false, "the lobby does not open", chat},
	{"natneg", "UDP", false, "games behind routers cannot be joined", seen},
	{"mangler", "UDP", true, "matches between players behind some routers do not start", mangled},
	{"gstats", "TCP", false, "statistics and ranks are not kept", count},
	{"webservices", "TCP", false, "files that the game loads over HTTP are missing", fetch},
	{"nas", "TCP", true, "the console says that it cannot connect", testConsole},
}

var errNoName = errors.New("the game has no secret key in the catalogue, so its list cannot be read")

// register checks the availability of the game, and sends a heartbeat without
// answering its challenge: nothing is listed.
func register(ctx context.Context, t *Target, address string) (string, error) {
	p, err := netclient.Dial(ctx, address)
	if err != nil {
		return "", err
	}
	defer func() { _ = p.Close() }()
	bits, err := qr2.AskAvailable(ctx, p, t.Game.Name)
	switch {
	case err != nil:
		return "", err
	case bits&1 != 0:
		return "", errors.New("the server says that the online service of this game is gone: its operator has to add the game")
	case bits&2 != 0:
		return "", errors.New("the server says that the online service of this game is down for now")
	case t.Game.Secret() == "":
		return "available", nil
	}
	var instance [4]byte
	_, _ = rand.Read(instance[:]) // never returns an error
	h := qr2.Host{Packets: p, Game: t.Game.Name, Secret: t.Game.Secret(), Instance: binary.BigEndian.Uint32(instance[:])}
	if err := h.Heartbeat(qr2.StateStarts); err != nil {
		return "", err
	}
	if _, err := h.Await(ctx, qr2.KindChallenge); err != nil {
		return "", fmt.Errorf("no challenge for a heartbeat: %w", err)
	}
	return "available, and servers are challenged", nil
}

// onTCP connects, talks with do, and closes the connection.
func onTCP(ctx context.Context, address string, do func(net.Conn) (string, error)) (string, error) {
	conn, err := netclient.DialTCP(ctx, address)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	return do(conn)
}

func browse(ctx context.Context, t *Target, address string) (string, error) {
	if t.Game.Secret() == "" {
		return "", errNoName
	}
	return onTCP(ctx, address, func(conn net.Conn) (string, error) {
		reply, err := serverbrowse.NewClient(conn, t.Game.Secret()).List(ctx, serverbrowse.NewRequest(t.Game.Name, "", `\hostname`, serverbrowse.FieldsForAll))
		return listed(len(reply.Entries)), err
	})
}

func browseOld(ctx context.Context, t *Target, address string) (string, error) {
	if t.Game.Secret() == "" {
		return "", errNoName
	}
	return onTCP(ctx, address, func(conn net.Conn) (string, error) {
		r := legacylist.Request{Engine: t.Game.Name, Secret: t.Game.Secret(), Enctype: 2, Mode: legacylist.Compact, Game: t.Game.Name}
		servers, err := r.Ask(ctx, conn)
		return listed(len(servers)), err
	})
}

func browseQuake(ctx context.Context, t *Target, address string) (string, error) {
	return onUDP(ctx, address, func(p *netclient.Packets) (string, error) {
		servers, err := (&q3master.Browser{Packets: p}).List(ctx, quakeRequest(t))
		return listed(len(servers)), err
	})
}

func browseValve(ctx context.Context, t *Target, address string) (string, error) {
	return onUDP(ctx, address, func(p *netclient.Packets) (string, error) {
		first, err := (&valvemaster.Browser{Packets: p}).Page(ctx, `\gamedir\`+t.Game.Name, valvemaster.Start)
		return fmt.Sprintf("%s on the first page", listed(len(first.Servers))), err
	})
}

// browseEpic requests the list as the newest version of the game does.
func browseEpic(ctx context.Context, t *Target, address string) (string, error) {
	if len(t.Game.Epic) == 0 {
		return "", errors.New("the catalogue does not have the version of the game")
	}
	return onTCP(ctx, address, func(conn net.Conn) (string, error) {
		b := utmaster.Browser{Version: int32(t.Game.Epic[0].Versions[1]), Word: t.Game.Epic[0].Word}
		servers, err := b.List(ctx, conn)
		return listed(len(servers)), err
	})
}

// greet waits for the greeting of the presence service.
func greet(ctx context.Context, _ *Target, address string) (string, error) {
	return onTCP(ctx, address, func(conn net.Conn) (string, error) {
		c, err := gpcm.Connect(ctx, conn)
		if err != nil {
			return "", err
		}
		return "it greets", c.Close()
	})
}

// search asks for an account that does not exist.
func search(ctx context.Context, t *Target, address string) (string, error) {
	return onTCP(ctx, address, func(conn net.Conn) (string, error) {
		_, err := gpsp.NewClient(conn).Exists(ctx, strings.ToLower(rand.Text())+"@example.invalid", t.Game.Name)
		return "it answers", err
	})
}

// chat signs on as games do, and leaves.
func chat(ctx context.Context, t *Target, address string) (string, error) {
	return onTCP(ctx, address, func(conn net.Conn) (string, error) {
		c := peerchat.NewClient(conn)
		if secret := t.Game.Secret(); secret != "" {
			if err := c.Encrypt(ctx, t.Game.Name, secret); err != nil {
				return "", err
			}
		}
		if err := c.SignOn(ctx, "test-"+strings.ToLower(rand.Text()[:10])); err != nil {
			return "", err
		}
		return "signed on as " + c.Nick, c.Quit("")
	})
}

// seen asks for the address of this computer.
func seen(ctx context.Context, _ *Target, address string) (string, error) {
	p, err := netclient.Dial(ctx, address)
	if err != nil {
		return "", err
	}
	defer func() { _ = p.Close() }()
	at, err := natneg.AskAddress(ctx, p)
	if err != nil {
		return "", err
	}
	remark := fmt.Sprintf("it sees this computer at %s", at)
	if local := p.Local(); at.Port() != local.Port() {
		remark += fmt.Sprintf(" (port %d here: a router in between)", local.Port())
	}
	return remark, nil
}

// mangled asks the NAT helper for the port of this computer.
func mangled(ctx context.Context, _ *Target, address string) (string, error) {
	c, err := mangler.Dial(ctx, address)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }()
	at, err := c.Seen(time.Now().Add(stepTimeout))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("it sees this computer at %s (port %d here)", at, c.Local().Port()), nil
}

// count proves the key of the game.
func count(ctx context.Context, t *Target, address string) (string, error) {
	if t.Game.Secret() == "" {
		return "", errNoName
	}
	return onTCP(ctx, address, func(conn net.Conn) (string, error) {
		c, err := gstats.Connect(ctx, conn)
		if err != nil {
			return "", err
		}
		return "the game is accepted", c.Authenticate(ctx, t.Game.Name, t.Game.Secret())
	})
}

// fetch asks for a page; any answer of HTTP passes.
func fetch(ctx context.Context, _ *Target, address string) (string, error) {
	return onTCP(ctx, address, func(conn net.Conn) (string, error) {
		answer := make([]byte, len("HTTP/1.1 404"))
		err := netclient.During(ctx, conn, func() error {
			if _, err := fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: motd.gamespy.com\r\nConnection: close\r\n\r\n"); err != nil {
				return err
			}
			_, err := conn.Read(answer)
			return err
		})
		if err == nil && !strings.HasPrefix(string(answer), "HTTP/1.") {
			err = errors.New("the program that answers there does not speak HTTP")
		}
		return "it answers", err
	})
}

// testConsole tests the connection as a console does, and asks where files are.
func testConsole(ctx context.Context, _ *Target, address string) (string, error) {
	console := nas.Client{Address: address}
	page, err := console.Get(ctx, "conntest", "/")
	if err != nil {
		return "", err
	}
	if page.Header.Get("X-Organization") != "Nintendo" {
		return "", fmt.Errorf("the connection test is answered with status %d: the sign-in of consoles is off there", page.Status)
	}
	_, err = console.Ask(ctx, "/ac", nas.Form{{Name: "action", Value: []byte("svcloc")}, {Name: "svc", Value: []byte("9000")}})
	return "it answers over http, which the game must be patched for", err
}

// listed returns how many servers a list has, in words.
func listed(n int) string {
	if n == 1 {
		return "1 server"
	}
	return fmt.Sprintf("%d servers", n)
}

// quakeRequest returns the request of a game of Quake III's family: by protocol alone
// where the game is known by a tag.
func quakeRequest(t *Target) quake3.Request {
	r := quake3.Request{Ext: true, Game: []byte(t.Game.Name), Empty: true, Full: true}
	if len(t.Game.Quake3) == 0 {
		return r
	}
	q := &t.Game.Quake3[0]
	if len(q.Protocols) > 0 {
		r.Protocol = q.Protocols[0]
	}
	if q.Tag != "" {
		r.Ext, r.Game = false, nil
		return r
	}
	r.Game = []byte(q.Name)
	return r
}
