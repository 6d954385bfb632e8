package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/services"
	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/qr2"
)

// The self-test plays a server of this game; it is in every catalogue.
const testGame = "gmtest"

// stepTimeout bounds every wait of the self-test.
const stepTimeout = 3 * time.Second

func (p *program) selftestCommand() *cobra.Command {
	quick := false
	cmd := &cobra.Command{
		Use:   "selftest",
		Short: "Play a game server and players against the running daemon",
		Long: `Plays a game server and players against the sockets of the running daemon, and
says of each service how it went. Two accounts are made and deleted again, which
the audit log tells of; --quick leaves that out and changes nothing that lasts,
for a health check that runs every minute.`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, _, err := p.load()
			if err != nil {
				return p.listMistakes(err)
			}
			return p.selftest(cmd.Context(), cfg, quick)
		},
	}
	cmd.Flags().BoolVar(&quick, "quick", false, "make no accounts")
	return cmd
}

// selftest runs every test whose service is on and says how it went.
func (p *program) selftest(ctx context.Context, cfg *services.Config, quick bool) error {
	t := &selfTest{cfg: cfg}
	defer t.close()
	failed := 0
	for _, step := range []struct {
		service string
		on      bool
		run     func(context.Context) error
	}{
		{"qr2", cfg.QR2.Listen != "", t.register},
		{"serverbrowse list", cfg.QR2.Listen != "" && cfg.ServerBrowse.Listen != "", t.list},
		{"legacylist list", cfg.QR2.Listen != "" && cfg.LegacyList.Listen != "", t.legacyList},
		{"ssq", cfg.QR2.Listen != "" && cfg.SSQ.Listen != "", t.standardQuery},
		{"web", cfg.Web.Listen != "", t.webList},
		{"admin", cfg.Admin.Listen != "", t.ready},
		{"natneg", cfg.NATNeg.Listen != "", t.negotiate},
		{"zanmaster", cfg.ZanMaster.Listen != "", t.zanmaster},
		{"valvemaster", cfg.ValveMaster.Listen != "", t.valveMaster},
		{"dns", cfg.DNS.Enabled && cfg.DNS.Listen != "", t.resolve},
		{"presence", cfg.GPCM.Listen != "" && cfg.GPSP.Listen != "", t.presence},
		{"buddy message", !quick && cfg.GPCM.Listen != "" && cfg.GPSP.Listen != "", t.buddyMessage},
		{"serverbrowse message", cfg.QR2.Listen != "" && cfg.ServerBrowse.Listen != "", t.message},
	} {
		if !step.on {
			continue
		}
		result := "ok"
		t.remark = ""
		err := step.run(ctx)
		if t.remark != "" {
			result += ", but " + t.remark
		}
		if err != nil {
			failed++
			result = "FAILED: " + strings.ReplaceAll(err.Error(), "\n", ": ")
		}
		if err := p.say("%-22s %s", step.service, result); err != nil {
			return err
		}
	}
	if failed > 0 {
		return reportedError{fmt.Errorf("%d tests failed", failed)}
	}
	return nil
}

// selfTest is a game server, and the player who looks for it.
type selfTest struct {
	cfg      *services.Config
	name     string
	secret   string
	instance uint32
	host     *net.UDPConn
	remark   string // of a step that passed
}

// dialable turns a listen address into one that can be reached from here.
func dialable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if a, err := netip.ParseAddr(host); host == "" || (err == nil && a.IsUnspecified()) {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// register has the game server listed.
func (t *selfTest) register(ctx context.Context) error {
	list, err := games.ParseYAML(bytes.NewReader(configs.Games), games.Source{Origin: games.FromEmbedded})
	if err != nil {
		return err
	}
	catalog, err := games.NewCatalog(list)
	if err != nil {
		return err
	}
	g, _ := catalog.Lookup(testGame)
	t.secret = g.Secret()
	var random [4]byte
	_, _ = rand.Read(random[:]) // never returns an error
	t.instance = binary.BigEndian.Uint32(random[:])
	t.name = "respawnd selftest " + strconv.FormatUint(uint64(t.instance), 16)

	var d net.Dialer
	conn, err := d.DialContext(ctx, "udp4", dialable(t.cfg.QR2.Listen))
	if err != nil {
		return err
	}
	t.host = conn.(*net.UDPConn)
	if err := t.send(qr2.AppendHeartbeat(nil, t.instance, t.rules("3")...)); err != nil {
		return err
	}
	challenge, err := t.await(qr2.KindChallenge)
	if err != nil {
		return fmt.Errorf("no challenge for a heartbeat: %w", err)
	}
	if err := t.send(qr2.AppendResponse(nil, t.instance, t.secret, challenge.Body)); err != nil {
		return err
	}
	if _, err := t.await(qr2.KindRegistered); err != nil {
		return fmt.Errorf("no registration for the right answer: %w", err)
	}
	return nil
}

func (t *selfTest) rules(state string) []qr2.Rule {
	return []qr2.Rule{
		{Name: "natneg", Value: "1"},
		{Name: "statechanged", Value: state},
		{Name: "gamename", Value: testGame},
		{Name: "hostname", Value: t.name},
		{Name: "numplayers", Value: "0"},
		{Name: "maxplayers", Value: "8"},
	}
}

func (t *selfTest) send(b []byte) error {
	_, err := t.host.Write(b)
	return err
}

// await waits for a packet of one kind and passes over others.
func (t *selfTest) await(kind qr2.Kind) (qr2.Reply, error) {
	if err := t.host.SetReadDeadline(time.Now().Add(stepTimeout)); err != nil {
		return qr2.Reply{}, err
	}
	for {
		buf := make([]byte, qr2.MaxReply+1)
		n, err := t.host.Read(buf)
		if err != nil {
			return qr2.Reply{}, err
		}
		if r, ok := qr2.ParseReply(buf[:n]); ok && r.Kind == kind && r.Key == t.instance {
			return r, nil
		}
	}
}

var (
	errNotRegistered = errors.New("the test server is not registered")
	errNotInList     = errors.New("the test server is not in the list")
)

// browse opens a connection and asks for a list.
func (t *selfTest) browse(ctx context.Context, o serverbrowse.Option, filter string) (net.Conn, *serverbrowse.Decoder, error) {
	if t.host == nil || t.secret == "" {
		return nil, nil, errNotRegistered
	}
	req := serverbrowse.ListRequest{
		Protocol: 1, Encoding: 3, For: testGame, From: testGame, Filter: filter, Fields: `\hostname\numplayers`, Options: o,
	}
	copy(req.Challenge[:], rand.Text())
	b, err := req.AppendTo(nil)
	if err != nil {
		return nil, nil, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp4", dialable(t.cfg.ServerBrowse.Listen))
	if err != nil {
		return nil, nil, err
	}
	if err = conn.SetDeadline(time.Now().Add(stepTimeout)); err == nil {
		_, err = conn.Write(b)
	}
	if err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	decoder, err := serverbrowse.NewDecoder(conn, t.secret, req.Challenge)
	if err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	return conn, decoder, nil
}

// list looks for the test server in the list.
func (t *selfTest) list(ctx context.Context) error {
	conn, decoder, err := t.browse(ctx, serverbrowse.FieldsForAll, "hostname='"+t.name+"'")
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	reply, err := decoder.Reply(serverbrowse.FieldsForAll)
	if err != nil {
		return err
	}
	if reply.Error != "" {
		return errors.New(reply.Error)
	}
	if !slices.ContainsFunc(reply.Entries, t.isOurs) {
		return errNotInList
	}
	return nil
}

func (t *selfTest) isOurs(e serverbrowse.Entry) bool {
	return len(e.Values) > 0 && e.Values[0] == t.name && e.Public.Port() == t.port()
}

func (t *selfTest) port() uint16 {
	return netip.MustParseAddrPort(t.host.LocalAddr().String()).Port()
}

// message has the player send the test server a message through the master.
func (t *selfTest) message(ctx context.Context) error {
	conn, decoder, err := t.browse(ctx, serverbrowse.NoServerList, "")
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	reply, err := decoder.Reply(serverbrowse.NoServerList)
	if err != nil {
		return err
	}
	// The master sees the test server where it sees us.
	server := netip.AddrPortFrom(reply.Client, t.port())
	b, err := serverbrowse.AppendMessage(nil, server, []byte("respawnd selftest"))
	if err != nil {
		return err
	}
	if _, err := conn.Write(b); err != nil {
		return err
	}
	m, err := t.await(qr2.KindMessage)
	if err != nil {
		return fmt.Errorf("the message did not arrive: %w", err)
	}
	return t.send(qr2.AppendReceipt(nil, t.instance, m.Body))
}

// close has the test server leave the list.
func (t *selfTest) close() {
	if t.host == nil {
		return
	}
	_ = t.send(qr2.AppendHeartbeat(nil, t.instance, t.rules("2")...)) // it would expire anyway
	_ = t.host.Close()
}
