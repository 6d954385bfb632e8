package serverbrowse

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/respawnd/respawnd/internal/gamespy"
)

// recording is one session of the original client: the data that it sent, the
// answers, and its reports to the game.
type recording struct {
	Client  []hexBytes `json:"client"`
	Request struct {
		Proto, Enc uint8
		GameVer    uint32 `json:"gamever_le"`
		For, From  string
		Chal       hexBytes
		Filter     string
		Fields     string
		Options    Option
		SrcIP      string
		Max        uint32
	} `json:"request"`
	Stream hexBytes `json:"stream"`
	Clear  hexBytes `json:"clear"`
	Steps  []struct {
		Note  string
		Clear hexBytes
	} `json:"steps"`
	Callbacks []string `json:"callbacks"`
}

type hexBytes []byte

func (h *hexBytes) UnmarshalText(p []byte) (err error) {
	*h, err = hex.DecodeString(string(p))
	return err
}

type recordings struct {
	Secret    string
	Scenarios map[string]recording
}

func loadRecordings(t testing.TB) recordings {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "captures.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r recordings
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Scenarios) < 25 {
		t.Fatalf("%d recordings, want 25", len(r.Scenarios))
	}
	return r
}

func (r *recording) challenge() [8]byte { return [8]byte(r.Request.Chal) }

var compareAddrs = cmp.Options{cmpopts.EquateComparable(netip.Addr{}, netip.AddrPort{}), cmpopts.EquateEmpty()}

func TestRecordedRequestsAreUnderstood(t *testing.T) {
	for name, rec := range loadRecordings(t).Scenarios {
		t.Run(name, func(t *testing.T) {
			frames := frameReader{r: bytes.NewReader(slices.Concat(toSlices(rec.Client)...))}
			for i, raw := range rec.Client {
				kind, body, err := frames.next()
				if err != nil {
					t.Fatalf("message %d: %v", i, err)
				}
				if i == 0 && kind != KindList {
					t.Fatalf("message 0 is %v, want a list request", kind)
				}
				again, err := reappend(kind, body)
				if err != nil {
					t.Fatalf("message %d, %v: %v", i, kind, err)
				}
				if !bytes.Equal(again, raw) {
					t.Errorf("message %d, %v, appended again:\n got %x\nwant %x", i, kind, again, []byte(raw))
				}
			}
			if _, _, err := frames.next(); !errors.Is(err, io.EOF) {
				t.Errorf("after the last message: %v, want EOF", err)
			}
			got, err := parseListRequest(rec.Client[0][minMessage:])
			if err != nil {
				t.Fatal(err)
			}
			w := rec.Request
			want := ListRequest{
				Protocol: w.Proto, Encoding: w.Enc, GameVersion: w.GameVer, For: w.For, From: w.From,
				Challenge: rec.challenge(), Filter: w.Filter, Fields: w.Fields, Options: w.Options, Max: w.Max,
			}
			if w.SrcIP != "" {
				want.Source = netip.MustParseAddr(w.SrcIP)
			}
			if d := cmp.Diff(want, got, compareAddrs); d != "" {
				t.Errorf("list request (-want +got):\n%s", d)
			}
		})
	}
}

func toSlices(h []hexBytes) [][]byte {
	out := make([][]byte, len(h))
	for i := range h {
		out[i] = h[i]
	}
	return out
}

// reappend reads a message and writes it again.
func reappend(kind Kind, body []byte) ([]byte, error) {
	switch kind {
	case KindList:
		r, err := parseListRequest(body)
		if err != nil {
			return nil, err
		}
		return r.AppendTo(nil)
	case KindPlayerSearch:
		p, err := parsePlayerSearch(body)
		if err != nil {
			return nil, err
		}
		return p.AppendTo(nil)
	case KindKeepalive:
		return endPush(append(beginPush(nil, PushKeepalive), body...), 0), nil
	default:
	}
	a, rest, err := parseAddress(body)
	if err != nil {
		return nil, err
	}
	switch kind {
	case KindInfo:
		return AppendInfoRequest(nil, a), nil
	case KindMapLoop:
		return AppendMapLoopRequest(nil, a), nil
	case KindMessage:
		return AppendMessage(nil, a, rest)
	default:
		return nil, fmt.Errorf("kind %v", kind)
	}
}

func TestRecordedStreamsDecipher(t *testing.T) {
	recs := loadRecordings(t)
	for name, rec := range recs.Scenarios {
		_, server, rest, err := gamespy.ParseCryptHeader(rec.Stream)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		key := gamespy.BrowseKey(recs.Secret, rec.challenge(), server)
		c := gamespy.NewCipher(key[:])
		got := make([]byte, len(rest))
		c.Decrypt(got, rest)
		if !bytes.Equal(got, rec.Clear) {
			t.Errorf("%s: deciphered\n got %x\nwant %x", name, got, []byte(rec.Clear))
		}
	}
}

// wantFailure are the recordings in which the client disconnected because of an
// error of the master.
var wantFailure = map[string]error{"big": errElement, "len5000": errLength, "pushnokeys": errNoKeys}

func TestRecordedRepliesToTheClient(t *testing.T) {
	recs := loadRecordings(t)
	for name, rec := range recs.Scenarios {
		t.Run(name, func(t *testing.T) {
			d, err := NewDecoder(bytes.NewReader(rec.Stream), recs.Secret, rec.challenge())
			if err != nil {
				t.Fatal(err)
			}
			reply, err := d.Reply(rec.Request.Options)
			pushes := 0
			for err == nil && pushes < len(rec.Steps)-1 {
				_, err = d.Push()
				pushes++
			}
			switch want := wantFailure[name]; {
			case want != nil:
				if !errors.Is(err, want) {
					t.Errorf("decoding: %v, want %v", err, want)
				}
			case err != nil:
				t.Errorf("decoding: %v", err)
			}
			if name == "big" {
				return
			}
			got := make([]string, 0, len(reply.Entries))
			for _, e := range reply.Entries {
				got = append(got, showEntry(e, reply.Keys))
			}
			if d := cmp.Diff(shownBefore(rec.Callbacks, "updatecomplete"), got, cmpopts.EquateEmpty()); d != "" {
				t.Errorf("servers (-client +decoded):\n%s", d)
			}
			wantError := ""
			for _, line := range rec.Callbacks {
				if _, text, ok := strings.Cut(line, "CB queryerror "); ok && wantError == "" {
					wantError = strings.Trim(text, `"`)
				}
			}
			if reply.Error != wantError {
				t.Errorf("error text %q, want %q", reply.Error, wantError)
			}
		})
	}
}

// shownBefore returns the servers that the client reported before a line of its
// log, in one spelling.
func shownBefore(log []string, until string) []string {
	var out []string
	for _, line := range log {
		if strings.Contains(line, until) {
			return out
		}
		_, added, ok := strings.Cut(line, "CB serveradded ")
		if !ok {
			continue
		}
		var pub, priv, flags, state, icmp string
		head, values, _ := strings.Cut(added, " { ")
		if _, err := fmt.Sscanf(head, "pub=%s priv=%s flags=%s state=%s icmp=%s", &pub, &priv, &flags, &state, &icmp); err != nil {
			continue
		}
		list := strings.Split(strings.TrimSuffix(strings.TrimSuffix(values, "}"), "; "), "; ")
		slices.Sort(list)
		out = append(out, fmt.Sprintf("%s %s %s %s %q", pub, priv, flags, icmp, list))
	}
	return nil
}

func showEntry(e Entry, keys []Key) string {
	values := make(map[string]string)
	for i, v := range e.Values {
		values[keys[i].Name] = v
	}
	for _, r := range e.Rules {
		values[r.Name] = r.Value
	}
	list := []string{}
	for k, v := range values {
		list = append(list, k+"="+v)
	}
	if len(list) == 0 {
		list = []string{""}
	}
	slices.Sort(list)
	local := "0.0.0.0:6500"
	if e.Flags&FlagLocal != 0 {
		local = e.Local.String()
	}
	icmp := netip.IPv4Unspecified()
	if e.Flags&FlagICMP != 0 {
		icmp = e.ICMP
	}
	return fmt.Sprintf("%v %s %02x %x %q", e.Public, local, uint8(e.Flags), icmp.AsSlice(), list)
}

func TestRecordedRepliesEncodeToTheSameBytes(t *testing.T) {
	for name, rec := range loadRecordings(t).Scenarios {
		if wantFailure[name] != nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			d := newClearDecoder(bytes.NewReader(rec.Clear))
			reply, err := d.Reply(rec.Request.Options)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := encodeReply(reply, rec.Request.Options), rec.Steps[0].Clear; !bytes.Equal(got, want) {
				t.Errorf("%s:\n got %x\nwant %x", rec.Steps[0].Note, got, []byte(want))
			}
			for _, step := range rec.Steps[1:] {
				p, err := d.Push()
				if err != nil {
					t.Fatalf("%s: %v", step.Note, err)
				}
				if got := encodePush(p, d.keys); !bytes.Equal(got, step.Clear) {
					t.Errorf("%s:\n got %x\nwant %x", step.Note, got, []byte(step.Clear))
				}
			}
		})
	}
}

// encodeReply writes a decoded list with the same key types and popular values.
func encodeReply(r Reply, o Option) []byte {
	b := appendFixedHeader(nil, r.Client, r.Port)
	switch {
	case r.Port == errorPort:
		return gamespy.AppendString(b, r.Error)
	case o&NoServerList != 0:
		return b
	}
	b = appendPopular(appendKeys(b, r.Keys), r.Popular)
	for _, e := range r.Entries {
		b = appendEntryHead(b, e.Flags, e.Public, e.Local, e.ICMP)
		for i, v := range e.Values {
			n, _ := canonical(v)
			popular := slices.Index(r.Popular, v)
			switch {
			case r.Keys[i].Type != KeyString:
				b = appendNumber(b, r.Keys[i].Type, n)
			case popular >= 0:
				b = append(b, byte(popular))
			default:
				b = appendLiteral(b, v)
			}
		}
		b = encodeRules(b, e)
	}
	return append(b, listEnd...)
}

func encodeRules(b []byte, e Entry) []byte {
	if e.Flags&FlagRules == 0 {
		return b
	}
	for _, r := range e.Rules {
		b = gamespy.AppendString(gamespy.AppendString(b, r.Name), r.Value)
	}
	return append(b, 0)
}

// encodePush writes a decoded message; keys are those in force after it.
func encodePush(p Push, keys []Key) []byte {
	switch p.Kind {
	case PushKeys:
		b, _ := appendPushKeys(nil, p.Keys)
		return b
	case PushServer:
		e := p.Entry
		b := appendEntryHead(beginPush(nil, PushServer), e.Flags, e.Public, e.Local, e.ICMP)
		for i, v := range e.Values {
			if n, ok := canonical(v); ok && keys[i].Type != KeyString {
				b = appendNumber(b, keys[i].Type, n)
			} else {
				b = gamespy.AppendString(b, v)
			}
		}
		return endPush(encodeRules(b, e), 0)
	case PushDelete:
		return appendDelete(nil, p.Address)
	case PushMapLoop:
		return appendMapLoop(nil, p.Address, p.Changes, p.Maps)
	case PushPlayers:
		return appendFound(nil, p.Players)
	case PushKeepalive:
		if len(p.Body) == 1 {
			return appendKeepalive(nil)
		}
	}
	return endPush(append(beginPush(nil, p.Kind), p.Body...), 0)
}

// TestRecordedClientsAreServed replays the data of the clients.
func TestRecordedClientsAreServed(t *testing.T) {
	f := start(t, func(o *Options) { o.Messenger = &messenger{} })
	for i := range 4 {
		public := fmt.Sprintf("192.0.2.%d:%d", 10+i, 6500+i)
		putPlayers(t, f.reg, "gmtest", public, []string{"hostname", public, "numplayers", "5", "gametype", "arena"}, []string{"Joe"}, nil)
	}
	for name, rec := range loadRecordings(t).Scenarios {
		t.Run(name, func(t *testing.T) {
			c, err := f.dial()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			if _, err := c.Write(slices.Concat(toSlices(rec.Client)...)); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Write(AppendInfoRequest(nil, netip.MustParseAddrPort("192.0.2.99:1"))); err != nil {
				t.Fatal(err)
			}
			d, err := NewDecoder(c, testSecret, rec.challenge())
			if err != nil {
				t.Fatal(err)
			}
			o := rec.Request.Options
			reply, err := d.Reply(o)
			if err != nil {
				t.Fatal(err)
			}
			want := map[Option]int{NoServerList: 0, SendGroups: 2}
			if n, special := want[o&(NoServerList|SendGroups)]; special && len(reply.Entries) != n ||
				!special && rec.Request.Filter != "foo=1" && len(reply.Entries) != 4 {
				t.Errorf("%d entries", len(reply.Entries))
			}
			for {
				p, err := d.Push()
				if err != nil {
					t.Fatal(err)
				}
				if p.Kind == PushServer && p.Entry.Public.Port() == 1 {
					return // everything before it has been answered
				}
			}
		})
	}
}
