package utmaster

import (
	"bufio"
	"cmp"
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/respawnd/respawnd/internal/netclient"
)

// Errors of a client.
var (
	ErrDenied     = errors.New("utmaster: the master denied the sign-in")
	ErrUnexpected = errors.New("utmaster: the master sent an unexpected message")
)

// DefaultKey is the CD key of tools, which no game accepts.
const DefaultKey = "AAAAA-BBBBB-CCCCC-DDDDD"

// signIn signs a peer in with a key and its role and version.
func signIn(conn net.Conn, h Hello, key string) error {
	p, err := readFrame(conn, nil, maxHello)
	if err != nil {
		return err
	}
	challenge, _, err := parseWord(p)
	if err != nil {
		return err
	}
	h.KeyHash, h.Response = digest(key), digest(key+challenge)
	if _, err := conn.Write(h.AppendTo(nil)); err != nil {
		return err
	}
	if p, err = readFrame(conn, p, maxHello); err != nil {
		return err
	}
	word, rest, err := parseWord(p)
	role, _ := h.Role()
	switch {
	case err != nil:
		return err
	case word == wordDenied:
		return ErrDenied
	case word != wordApproved:
		return ErrUnexpected
	case role == RoleClient && h.Version >= modern && string(rest) != "\x03\x00\x00\x00":
		return ErrUnexpected
	}
	return nil
}

func digest(text string) string {
	sum := md5.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Browser requests lists and the message of the day, each on a connection of its own.
type Browser struct {
	// Version is that of the game, such as 3369.
	Version int32
	// Word stands before CLIENT, such as UT2K4.
	Word string
	// Key is the CD key; empty: DefaultKey.
	Key string
	// NoXMPFlags reports that the master sends Unreal 2 XMP no flags.
	NoXMPFlags bool
	// Max bounds the servers of a list; 0: no bound.
	Max int
}

func (b *Browser) open(conn net.Conn, request []byte) error {
	h := Hello{Word: b.Word + "CLIENT", Version: b.Version, OS: 4, Language: "int"}
	key := cmp.Or(b.Key, DefaultKey)
	if err := signIn(conn, h, key); err != nil {
		return err
	}
	if b.Version >= modern {
		if _, err := conn.Write(appendWord(nil, strings.Repeat("0", keyHashLen))); err != nil {
			return err
		}
		p, err := readFrame(conn, nil, maxHello)
		if err != nil {
			return err
		}
		if word, _, err := parseWord(p); err != nil || word != wordVerified {
			return errors.Join(ErrUnexpected, err)
		}
	}
	_, err := conn.Write(request)
	return err
}

// List requests the servers that pass filters. The caller closes conn. The error is
// netclient.ErrTooLong for a list beyond Max, of which the beginning is returned.
func (b *Browser) List(ctx context.Context, conn net.Conn, filters ...Filter) (list []Entry, err error) {
	err = netclient.During(ctx, conn, func() error {
		list, err = b.list(conn, filters)
		return err
	})
	return list, err
}

func (b *Browser) list(conn net.Conn, filters []Filter) (list []Entry, err error) {
	if err := b.open(conn, AppendQuery(nil, filters)); err != nil {
		return nil, err
	}
	in := bufio.NewReader(conn)
	p, err := readFrame(in, nil, maxFrame)
	if err != nil {
		return nil, err
	}
	n, err := parseListHead(p)
	if err != nil {
		return nil, err
	}
	as := formOf(b.Version, !b.NoXMPFlags)
	for range n {
		if b.Max > 0 && len(list) == b.Max {
			return list, netclient.ErrTooLong
		}
		if p, err = readFrame(in, p, maxFrame); err != nil {
			return list, err
		}
		e, err := parseEntry(p, as)
		if err != nil {
			return list, err
		}
		list = append(list, e)
	}
	if _, err := in.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		return list, ErrUnexpected // the master closes the connection
	}
	return list, nil
}

// MOTD requests the message of the day. The caller closes conn.
func (b *Browser) MOTD(ctx context.Context, conn net.Conn) (text string, err error) {
	err = netclient.During(ctx, conn, func() error {
		if err := b.open(conn, frame(nil, func(p []byte) []byte { return append(p, askMOTD) })); err != nil {
			return err
		}
		p, err := readFrame(conn, nil, maxFrame)
		if err != nil {
			return err
		}
		text, _, err = parseWord(p)
		return err
	})
	return text, err
}

// Host is a game server. Its fields are not changed while it is open.
type Host struct {
	// Version, Word and Key are those of a Browser.
	Version int32
	Word    string
	Key     string
	Mode    Mode
	// Sockets are those of the query port, the game and GameSpy's query port. A nil one
	// does not answer probes.
	Sockets [probeKinds]*netclient.Packets

	conn    net.Conn
	asked   chan struct{} // closed once the ports arrived
	ports   Ports
	dropped chan string // players to disconnect
	reading sync.WaitGroup
	serving sync.WaitGroup
}

// Open signs in on conn and answers probes from now on. It takes the connection over.
func (h *Host) Open(ctx context.Context, conn net.Conn) error {
	h.conn, h.asked, h.dropped = conn, make(chan struct{}), make(chan string, 16)
	key := cmp.Or(h.Key, DefaultKey)
	err := netclient.During(ctx, conn, func() error {
		if err := signIn(conn, Hello{Word: h.Word + "SERVER", Version: h.Version, OS: 4, Language: "int", Statistics: -1}, key); err != nil {
			return err
		}
		_, err := conn.Write(h.Mode.AppendTo(nil))
		return err
	})
	if err = errors.Join(err, conn.SetDeadline(time.Time{})); err != nil { // the connection outlasts ctx
		return err
	}
	for _, s := range h.Sockets {
		if s != nil {
			h.serving.Go(func() { s.Serve(func(p []byte, from netip.AddrPort) { h.answer(s, p, from) }) })
		}
	}
	h.reading.Go(h.read)
	return nil
}

// answer answers the question for the status.
func (h *Host) answer(s *netclient.Packets, p []byte, from netip.AddrPort) {
	if len(p) == statusQuerySize && string(p[1:]) == "\x00\x00\x00\x00" {
		_ = s.Answer([]byte{udp2004, 0, 0, 0, 0}, from) // it may be lost, as elsewhere
	}
}

// read answers probes and notes the ports, until the connection ends.
func (h *Host) read() {
	var buf []byte
	known := false
	for {
		p, err := readFrame(h.conn, buf, maxFrame)
		if err != nil {
			return
		}
		buf = p
		if known {
			h.order(p)
			continue
		}
		probe, ports, isProbe, err := parseAsk(p)
		switch {
		case err != nil:
			return
		case !isProbe:
			h.ports, known = ports, true
			close(h.asked)
		case int(probe.Socket) < probeKinds && h.Sockets[probe.Socket] != nil:
			_ = h.Sockets[probe.Socket].Send(appendProbeReply(nil, udp2003, probe)) // it may be lost
		}
	}
}

// order takes a message after the ports.
func (h *Host) order(p []byte) {
	if len(p) == 0 {
		return
	}
	c := cursor{b: p[1:]}
	player := c.text()
	switch {
	case c.err != nil:
	case p[0] == tellChallenge:
		challenge := c.text()
		_, _ = h.conn.Write(PlayerKey{player, digest("player " + player), digest(challenge)}.appendTo(nil))
	case p[0] == tellDisconnect:
		select {
		case h.dropped <- player:
		default:
		}
	}
}

// Ports waits for the ports that the master saw.
func (h *Host) Ports(ctx context.Context) (Ports, error) {
	if _, err := netclient.Wait(ctx, h.asked); err != nil {
		return Ports{}, err
	}
	return h.ports, nil
}

// Report sends a state, after the ports have arrived.
func (h *Host) Report(s *State) error {
	_, err := h.conn.Write(s.AppendTo(nil, h.Version))
	return err
}

// Close ends the connection, which takes the server off the list, and closes the
// sockets.
func (h *Host) Close() error {
	err := h.conn.Close()
	h.reading.Wait()
	for _, s := range h.Sockets {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
	}
	h.serving.Wait()
	return err
}

// Host sockets, in the order of Host.Sockets.
const (
	QuerySocket   = probeQuery
	GameSocket    = probeGame
	GameSpySocket = probeGameSpy
)
