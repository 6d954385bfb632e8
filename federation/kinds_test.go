package federation

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/idtech4"
	"github.com/respawnd/respawnd/internal/quake2"
	"github.com/respawnd/respawnd/internal/quake3"
)

// pageMaster answers every request for a page with a text.
func pageMaster(t testing.TB, text func(r *http.Request) string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, text(r)) }))
	t.Cleanup(s.Close)
	return s.URL
}

// fixed returns a text for every request.
func fixed(text string) func(*http.Request) string { return func(*http.Request) string { return text } }

// lines returns the addresses of a list, with something before and behind each.
func lines(list []netip.AddrPort, form string) string {
	var b strings.Builder
	for _, a := range list {
		fmt.Fprintf(&b, form, a)
	}
	return b.String()
}

// objects returns a list as the elements of an array.
func objects(list []netip.AddrPort, port string) string {
	var all []string
	for _, a := range list {
		all = append(all, fmt.Sprintf(`{"name":"x","ip":%q,%q:%d}`, a.Addr(), port, a.Port()))
	}
	return strings.Join(all, ",")
}

// pagesOf333 answers as the site of 333networks does, with the ports of games.
func pagesOf333(list []netip.AddrPort) func(*http.Request) string {
	return func(r *http.Request) string {
		size, _ := strconv.Atoi(r.URL.Query().Get("r"))
		page, _ := strconv.Atoi(r.URL.Query().Get("p"))
		begin := min((page-1)*size, len(list))
		if r.URL.Path != "/json/ut" {
			return `{"error":1,"in":"url_format"}`
		}
		var games []netip.AddrPort
		for _, a := range list[begin:min(begin+size, len(list))] {
			games = append(games, netip.AddrPortFrom(a.Addr(), a.Port()-1))
		}
		return fmt.Sprintf(`[[%s],{"total":%d,"players":0}]`, objects(games, "hostport"), len(list))
	}
}

// syncMaster plays a master of 333networks, which answers one that validates.
func syncMaster(answer string) func(net.Conn) {
	return func(c net.Conn) {
		_, _ = io.WriteString(c, `\basic\\secure\ABCDEF`)
		buf := make([]byte, 2048)
		n, err := c.Read(buf)
		if text := string(buf[:n]); err == nil && strings.HasPrefix(text, `\validate\TcGdY/3Q\`) && strings.Contains(text, `\final\\sync\all\msid\`) {
			_, _ = io.WriteString(c, answer)
		}
	}
}

func cod4XList(list []netip.AddrPort) (b []byte) {
	b = []byte("\xff\xff\xff\xffgetserversResponse\n")
	for i, a := range list {
		if i > 0 && i%100 == 0 {
			b = append(b, "\\EOT\x00\xff\xff\xff\xffgetserversResponse\n"...)
		}
		ip := a.Addr().As4()
		b = binary.BigEndian.AppendUint16(append(append(b, "\\\x00\x00\x00\x00\x04"...), ip[:]...), a.Port())
	}
	return append(b, "\\EOF"...)
}

// manyLists returns a list in packets, each of which has no more than one may.
func manyLists(list []netip.AddrPort, one func([]byte, []netip.AddrPort) []byte) (packets [][]byte) {
	for part := range slices.Chunk(list, quake2.MaxEntries) {
		packets = append(packets, one(nil, part))
	}
	return packets
}

// unrealMaster plays a master of Unreal Tournament 2004 whose servers have these query ports.
func unrealMaster(list []netip.AddrPort) func(net.Conn) {
	frame := func(b ...byte) []byte { return append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...) }
	return func(c net.Conn) {
		for _, answer := range []string{"\x0912345678\x00", "\x09APPROVED\x00\x03\x00\x00\x00", "\x09VERIFIED\x00"} {
			_, _ = c.Write(frame([]byte(answer)...))
			var size [4]byte
			if _, err := io.ReadFull(c, size[:]); err != nil {
				return
			}
			_, _ = io.CopyN(io.Discard, c, int64(binary.LittleEndian.Uint32(size[:])))
		}
		out := frame(append(binary.LittleEndian.AppendUint32(nil, uint32(len(list))), 1)...)
		for _, a := range list {
			ip := a.Addr().As4()
			b := binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(ip[:], a.Port()-1), a.Port())
			out = append(out, frame(append(b, "\x02N\x00\x02M\x00\x02T\x00\x00\x10\x00\x00\x00\x00\x020\x00"...)...)...)
		}
		_, _ = c.Write(out)
	}
}

// kind is a master of a kind, and the protocol in which its servers are queried.
type kind struct{ entry, query string }

// kinds returns masters with a list, by name.
func kinds(t testing.TB, list []netip.AddrPort) map[string]kind {
	shared := `\ut\` + lines(list[:len(list)/2], "%s ") + `\none\\unreal\` + lines(list[len(list)/2:], "::ffff:%s ") + gamespy.Final
	cod4X := func(c net.Conn) {
		buf := make([]byte, 100)
		if n, _ := c.Read(buf); bytes.HasSuffix(buf[:n], []byte("getservers cod4x 6 full empty \x00")) {
			_, _ = c.Write(cod4XList(list))
		}
	}
	return map[string]kind{
		"codmaster": {"codmaster " + packetMaster(t, sends(quake3.AppendCodLists(nil, list, false)...)) + " game=callofduty2 protocol=118", "quake3"},
		"cod4x":     {"cod4x " + connMaster(t, cod4X) + " game=callofduty4", "quake3"},
		"idmaster":  {"idmaster " + packetMaster(t, sends(idtech4.AppendLists(nil, list)...)) + " protocol=1.41", "idtech4"},
		"utmaster":  {"utmaster " + connMaster(t, unrealMaster(list)) + " game=ut2004", "unreal2"},
		"q2":        {"q2 " + packetMaster(t, sends(manyLists(list, quake2.AppendList)...)), "quake2"},
		"qw":        {"qw " + packetMaster(t, sends(manyLists(list, quake2.AppendWorldList)...)), "quakeworld"},
		"hw":        {"hw " + packetMaster(t, sends(quake2.Hexen.AppendLists(nil, list)...)) + " game=gmtest", "quakeworld"},
		"333sync":   {"333sync " + connMaster(t, syncMaster(shared)), "gs1"},
		"333json":   {"333json " + pageMaster(t, pagesOf333(list)) + " game=ut", "gs1"},
		"textlist":  {"textlist " + pageMaster(t, fixed("# list\n\n// x\n"+lines(list, "%s \\hostname\\x\r\n"))) + "/?raw=1 query=quake3", "quake3"},
		"xash":      {"textlist " + pageMaster(t, fixed("# list\n"+lines(list, "ip %s\n"))) + "/v1/servers/valve query=a2s", "a2s"},
		"jsonlist":  {"jsonlist " + pageMaster(t, fixed(`{"n":[1,{}],"data":{"servers":[`+objects(list, "q")+`]}}`)) + " query=gs3 at=data.servers port=q", "gs3"},
		"address":   {"jsonlist " + pageMaster(t, fixed(`["x",[`+strings.TrimSuffix(lines(list, `{"at":"%s"},`), ",")+`]]`)) + " query=gs1 at=1 host=at", "gs1"},
	}
}

func TestKinds(t *testing.T) {
	list := numbered(1700)
	for name, k := range kinds(t, list) {
		for _, most := range []int{len(list), len(list) - 100} {
			b := newBench(t)
			b.live.Store(&settings{every: time.Minute, expire: time.Hour, max: most})
			told, problem, refused := turn(t, b.reader(t, k.entry))
			switch cut := strings.Contains(problem, "federation.max_per_master"); {
			case most == len(list) && (told != most || problem != "" || len(refused) > 0), most < len(list) && (told != most || !cut):
				t.Errorf("%s: told %d of %d, problem %q, refused %v", name, told, most, problem, refused)
			}
			if c := b.prober.watched[list[0]]; c.Protocol != k.query {
				t.Errorf("%s: asked in %q, want %q", name, c.Protocol, k.query)
			}
		}
	}
}

// Silence ends a list without its mark, and a list that cannot be read is a failure.
func TestKindsInPart(t *testing.T) {
	one := []netip.AddrPort{addr("20.0.0.1:7778")}
	marked := quake3.AppendLists(nil, one, false)[0]
	for name, tc := range map[string]struct {
		entry   string
		told    int
		problem string
	}{
		"no end mark":           {"q3 " + packetMaster(t, sends(marked[:len(marked)-7])) + " protocol=68", 1, ""},
		"cod without end mark":  {"codmaster " + packetMaster(t, sends([]byte("\xff\xff\xff\xffgetserversResponse\n\\\x14\x00\x00\x01\x71\x20\\EOT"))) + " game=cod protocol=1", 1, ""},
		"cod of a strange head": {"codmaster " + packetMaster(t, sends([]byte("\xff\xff\xff\xffgetserversResponse \\\x14\x00\x00\x01\x71\x20\\EOF\x00\x00"))) + " game=cod protocol=1", 1, ""},
		"cod4x cut":             {"cod4x " + connMaster(t, func(c net.Conn) { _, _ = c.Read(make([]byte, 9)); _, _ = c.Write(cod4XList(one)[:37]) }) + " game=cod4", 1, "malformed"},
		"sync cut":              {"333sync " + connMaster(t, syncMaster(`\ut\20.0.0.1:7778 20.0.0.2:77`)), 1, "not a list"},
		"sync of itself":        {"333sync " + connMaster(t, syncMaster(`\final\`)), 0, ""},
		"sync of HTML":          {"333sync " + connMaster(t, syncMaster(`<html>`)), 0, "not a list"},
		"no list of lines":      {"textlist " + pageMaster(t, fixed("<html>\n<body>\n")) + " query=gs1", 0, errNoAddresses.Error()},
		"a long line":           {"textlist " + pageMaster(t, fixed(strings.Repeat("x", 1<<12))) + " query=gs1", 0, "too long"},
		"no servers":            {"textlist " + pageMaster(t, fixed("# none\n")) + " query=gs1", 0, ""},
		"a bad line":            {"textlist " + pageMaster(t, fixed("20.0.0.1:7778\nnew 20.0.0.2:1234\n")) + " query=gs1", 1, ""},
		"JSON of another form":  {"jsonlist " + pageMaster(t, fixed(`{"error":1}`)) + " query=gs1", 0, errNoArray.Error()},
		"JSON elsewhere":        {"jsonlist " + pageMaster(t, fixed(`{"a":[[]]}`)) + " query=gs1 at=a.1", 0, errNoArray.Error()},
		"JSON cut":              {"jsonlist " + pageMaster(t, fixed(`[{"ip":"20.0.0.1","port":"7778"},{"ip":`)) + " query=gs1", 1, errNoArray.Error()},
		"JSON without ports":    {"jsonlist " + pageMaster(t, fixed(`[{"ip":"20.0.0.1"},{"ip":"","port":70000},1]`)) + " query=gs1", 0, ""},
		"unknown game of 333":   {"333json " + pageMaster(t, pagesOf333(one)) + " game=x", 0, errNoArray.Error()},
		"a body without end":    {"jsonlist " + pageMaster(t, fixed(`[{"x":"`+strings.Repeat("x", 1<<18)+`"}]`)) + " query=gs1", 0, "federation.max_per_master"},
	} {
		b := newBench(t)
		b.live.Store(&settings{every: time.Minute, expire: time.Hour, max: 50})
		if told, problem, _ := turn(t, b.reader(t, tc.entry)); told != tc.told || !strings.Contains(problem, tc.problem) || (problem == "") != (tc.problem == "") {
			t.Errorf("%s: told %d, problem %q; want %d, %q", name, told, problem, tc.told, tc.problem)
		}
	}
}
