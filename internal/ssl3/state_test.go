package ssl3

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"io"
	"testing"
)

// pair is a client and a server without sockets.
type pair struct {
	t      testing.TB
	client *client
	server *server
}

func newPair(t testing.TB) *pair {
	t.Helper()
	c, err := newClient(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &pair{t: t, client: c, server: newServer(testIdentity(t), rand.Reader, nil)}
}

// deliver hands over the records that one side has to send, and returns the error of
// the other.
func deliver(from, to *state) error {
	wire := from.flight
	from.flight = nil
	_, err := feed(to, wire)
	return err
}

// feed gives all records in wire to s and returns the data in them.
func feed(s *state, wire []byte) (data []byte, err error) {
	reader := recordReader{r: bytes.NewReader(wire), old: s.old && !s.spoken}
	for {
		r, err := reader.next(s.in.limit())
		if errors.Is(err, io.EOF) {
			return data, nil
		}
		if err != nil {
			return data, err
		}
		part, err := s.handle(r)
		data = append(data, part...)
		if err != nil {
			return data, err
		}
	}
}

// shake makes the handshake.
func (p *pair) shake() {
	p.t.Helper()
	for range 2 {
		if err := deliver(&p.client.state, &p.server.state); err != nil {
			p.t.Fatal(err)
		}
		if err := deliver(&p.server.state, &p.client.state); err != nil {
			p.t.Fatal(err)
		}
	}
	if !p.client.open || !p.server.open {
		p.t.Fatalf("open: client %v, server %v", p.client.open, p.server.open)
	}
}

func TestData(t *testing.T) {
	p := newPair(t)
	p.shake()
	for _, size := range []int{0, 1, maxData - 1, maxData, maxData + 1, 3 * maxData} {
		want := make([]byte, size)
		_, _ = rand.Read(want)
		for _, way := range []struct{ from, to *state }{{&p.client.state, &p.server.state}, {&p.server.state, &p.client.state}} {
			got, err := feed(way.to, way.from.out.seal(nil, typeData, want))
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%d bytes: %d arrive, %v", size, len(got), err)
			}
		}
	}
}

// TestFragments cuts the client's handshake messages at every byte, also into records
// of one byte, and joins several into one record.
func TestFragments(t *testing.T) {
	rec := loadRecorded(t)
	for size := 1; size <= 60; size++ {
		s := newServer(rec.identity(), rec.random(), nil)
		var out half
		for _, name := range []string{"client_hello", "client_key_exchange"} {
			for part := rec.bytes(name); len(part) > 0; part = part[min(size, len(part)):] {
				if _, err := feed(&s.state, out.seal(nil, typeHandshake, part[:min(size, len(part))])); err != nil {
					t.Fatalf("%s in parts of %d bytes: %v", name, size, err)
				}
			}
		}
		if s.stage != awaitClientChange {
			t.Fatalf("parts of %d bytes: stage %d", size, s.stage)
		}
	}
	s := newServer(rec.identity(), rec.random(), nil)
	both := append(rec.bytes("client_hello"), rec.bytes("client_key_exchange")...)
	var out half
	if _, err := feed(&s.state, out.seal(nil, typeHandshake, both)); err != nil || s.stage != awaitClientChange {
		t.Errorf("two messages in a record: stage %d, %v", s.stage, err)
	}
}

// wantAlert checks the alert of an error.
func wantAlert(t *testing.T, what string, err error, want Alert) {
	t.Helper()
	if got, ok := alertOf(err); !ok || got != want {
		t.Errorf("%s: error %v, want %v", what, err, want)
	}
}

func TestMalformedHandshakes(t *testing.T) {
	rec := loadRecorded(t)
	hello, exchange := rec.bytes("client_hello"), rec.bytes("client_key_exchange")
	var clear half
	message := func(wire []byte) []byte { return clear.seal(nil, typeHandshake, wire) }
	edited := func(at int, b byte) []byte {
		out := bytes.Clone(hello)
		out[at] = b
		return out
	}
	tls := message(hello)
	tls[1] = 2
	later := bytes.Clone(message(exchange))
	later[2] = 1
	change := clear.seal(nil, typeChangeCipherSpec, []byte{1})
	for name, tc := range map[string]struct {
		wire []byte
		want Alert
	}{
		"type of record":           {[]byte{19, 3, 0, 0, 0}, AlertUnexpectedMessage},
		"version of record":        {tls, AlertIllegalParameter},
		"hello of SSL 2 alone":     {oldHelloOf(0x0002, 0, 16, suite), AlertHandshakeFailure},
		"old hello, other suite":   {oldHelloOf(version, 0, 16, 5), AlertHandshakeFailure},
		"old hello, no suites":     {oldHelloOf(version, 0, 16), AlertIllegalParameter},
		"old hello, challenge":     {oldHelloOf(version, 0, 15, suite), AlertIllegalParameter},
		"old hello, challenge 33":  {oldHelloOf(version, 0, 33, suite), AlertIllegalParameter},
		"old hello, session of 1":  {oldHelloOf(version, 1, 16, suite), AlertIllegalParameter},
		"old hello, empty":         {[]byte{0x80, 0}, AlertUnexpectedMessage},
		"old hello, other kind":    {edit(oldHelloOf(version, 0, 16, suite), 2, 2), AlertIllegalParameter},
		"old hello, lengths":       {edit(oldHelloOf(version, 0, 16, suite), 6, 6), AlertIllegalParameter},
		"old hello over the limit": {[]byte{0x88, 1}, AlertIllegalParameter},
		"old hello after a hello":  {append(message(hello), oldHelloOf(version, 0, 16, suite)...), AlertUnexpectedMessage},
		"old hello twice":          {append(oldHelloOf(version, 0, 16, suite), oldHelloOf(version, 0, 16, suite)...), AlertUnexpectedMessage},
		"empty record":             {[]byte{22, 3, 0, 0, 0}, AlertUnexpectedMessage},
		"record over the limit":    {[]byte{22, 3, 0, 0x40, 1}, AlertIllegalParameter},
		"data at once":             {clear.seal(nil, typeData, []byte("GET /")), AlertUnexpectedMessage},
		"change at once":           {change, AlertUnexpectedMessage},
		"change of two bytes":      {append(message(hello), 20, 3, 0, 0, 2, 1, 1), AlertUnexpectedMessage},
		"change before the key":    {append(message(hello), change...), AlertUnexpectedMessage},
		"change within a message":  {append(append(message(hello), message(exchange[:50])...), change...), AlertUnexpectedMessage},
		"key at once":              {message(exchange), AlertUnexpectedMessage},
		"two hellos":               {append(message(hello), message(hello)...), AlertUnexpectedMessage},
		"message after the key":    {append(message(hello), message(append(bytes.Clone(exchange), hello...))...), AlertUnexpectedMessage},
		"finished in the clear":    {append(append(message(hello), message(exchange)...), message(rec.bytes("client_finished_clear"))...), AlertUnexpectedMessage},
		"later version of records": {append(message(hello), later...), AlertIllegalParameter},
		"alert of one byte":        {clear.seal(nil, typeAlert, []byte{2}), AlertIllegalParameter},
		"hello without body":       {message([]byte{1, 0, 0, 0}), AlertIllegalParameter},
		"hello over the limit":     {message([]byte{1, 0, 8, 1}), AlertIllegalParameter},
		"hello of 16 MiB":          {message([]byte{1, 0xff, 0xff, 0xff}), AlertIllegalParameter},
		"length of the session":    {message(edited(38, 33)), AlertIllegalParameter},
		"no suites":                {message(edited(40, 0)), AlertIllegalParameter},
		"half a suite":             {message(edited(40, 1)), AlertIllegalParameter},
		"too many suites":          {message(edited(40, 4)), AlertIllegalParameter},
		"other suite":              {message(edited(42, 5)), AlertHandshakeFailure},
		"no compression method":    {message(edited(43, 0)), AlertIllegalParameter},
		"other compression":        {message(edited(44, 1)), AlertHandshakeFailure},
		"version 2":                {message(edited(4, 2)), AlertHandshakeFailure},
		"key with a length":        {append(message(hello), message(append([]byte{16, 0, 0, 130, 0, 128}, exchange[4:]...))...), AlertIllegalParameter},
		"key of 127 bytes":         {append(message(hello), message(append([]byte{16, 0, 0, 127}, exchange[5:]...))...), AlertIllegalParameter},
	} {
		s := newServer(rec.identity(), rec.random(), nil)
		_, err := feed(&s.state, tc.wire)
		wantAlert(t, name, err, tc.want)
	}
}

// oldHelloOf returns a hello in the form of SSL 2 with its record, the random bytes all 7.
func oldHelloOf(newest uint16, session, challenge int, suites ...uint16) []byte {
	body := []byte{1, byte(newest >> 8), byte(newest), 0, byte(oldSuite * len(suites)), 0, byte(session), 0, byte(challenge)}
	for _, s := range suites {
		body = append(body, 0, byte(s>>8), byte(s))
	}
	body = append(body, make([]byte, session)...)
	body = append(body, bytes.Repeat([]byte{7}, challenge)...)
	return append([]byte{OldHello, byte(len(body))}, body...)
}

func edit(b []byte, at int, to byte) []byte {
	b[at] = to
	return b
}

// TestOldHello has clients whose hello has the form of SSL 2 complete the handshake.
func TestOldHello(t *testing.T) {
	for name, tc := range map[string]struct {
		session, challenge int
		suites             []uint16
	}{
		"shortest": {0, minChallenge, []uint16{suite}},
		"longest":  {oldSession, randomLen, []uint16{5, suite, 0xff}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			first := oldHelloOf(version, tc.session, tc.challenge, tc.suites...)
			first = append(first[:oldHeader+oldFixed], append([]byte{1, 0, 0x80}, first[oldHeader+oldFixed:]...)...) // a suite of SSL 2
			first[1], first[6] = first[1]+oldSuite, first[6]+oldSuite
			p.client.random = [randomLen]byte{}
			copy(p.client.random[randomLen-tc.challenge:], bytes.Repeat([]byte{7}, tc.challenge))
			p.client.flight, p.client.transcript = first, bytes.Clone(first[oldHeader:])
			p.shake()
		})
	}
	if c, err := newClient(rand.Reader); err != nil || c.oldHello(nil) == nil {
		t.Errorf("a client takes a hello: %v", err)
	}
}

func TestLaterClients(t *testing.T) {
	p := newPair(t)
	h := hello{version: 0x0301, suites: []uint16{0x00ff, suite}, compressions: []byte{1, noCompression}, session: []byte("resume")}
	body := append(h.appendClient(nil), 0, 2, 0, 0) // extensions
	p.client.transcript, p.client.flight = nil, nil
	p.client.random = h.random
	p.client.send(appendMessage(nil, kindClientHello, body))
	p.client.flight[2] = 1
	if err := deliver(&p.client.state, &p.server.state); err != nil {
		t.Fatal(err)
	}
	if err := deliver(&p.server.state, &p.client.state); err != nil {
		t.Fatal(err)
	}
	if p.server.hello.version != 0x0301 {
		t.Errorf("version %x", p.server.hello.version)
	}
}

// TestWrongPremaster checks that a client cannot see whether the padding of its
// ciphertext was right.
func TestWrongPremaster(t *testing.T) {
	for name, block := range map[string][]byte{
		"no padding":    make([]byte, 128),
		"wrong type":    append([]byte{0, 1}, bytes.Repeat([]byte{7}, 126)...),
		"wrong length":  append(append([]byte{0, 2}, bytes.Repeat([]byte{7}, 76)...), make([]byte, 50)...),
		"no separator":  append([]byte{0, 2}, bytes.Repeat([]byte{7}, 126)...),
		"over modulus":  bytes.Repeat([]byte{0xff}, 128),
		"zero":          {},
		"other version": append(append(append([]byte{0, 2}, bytes.Repeat([]byte{7}, 77)...), 0, 3, 1), make([]byte, 46)...),
	} {
		p := newPair(t)
		if err := deliver(&p.client.state, &p.server.state); err != nil {
			t.Fatal(err)
		}
		var out half
		ciphertext := bytes.Repeat([]byte{0xff}, 128)
		if name != "over modulus" {
			ciphertext = rawEncrypt(&p.server.identity.key.PublicKey, block)
		}
		if _, err := feed(&p.server.state, out.seal(nil, typeHandshake, appendMessage(nil, kindKeyExchange, ciphertext))); err != nil {
			t.Errorf("%s: refused at once: %v", name, err)
			continue
		}
		if bytes.Equal(p.server.premaster[2:], make([]byte, premasterLen-2)) && name != "other version" {
			t.Errorf("%s: the premaster secret is not random", name)
		}
		wire := out.seal(nil, typeChangeCipherSpec, []byte{1})
		out.protect(make([]byte, macLen), make([]byte, keyLen))
		_, err := feed(&p.server.state, out.seal(wire, typeHandshake, appendMessage(nil, kindFinished, make([]byte, finishedLen))))
		wantAlert(t, name, err, AlertBadRecordMAC)
	}
}

// rawEncrypt encrypts a block as it is.
func rawEncrypt(key *rsa.PublicKey, block []byte) []byte {
	m, e := bigInt(block), bigInt([]byte{1, 0, 1})
	return m.Exp(m, e, key.N).FillBytes(make([]byte, key.Size()))
}

func TestWrongFinished(t *testing.T) {
	rec := loadRecorded(t)
	for at := range finishedLen {
		s := newServer(rec.identity(), rec.random(), nil)
		records := rec.clientRecords()
		for _, wire := range records[:3] {
			if _, err := feed(&s.state, wire); err != nil {
				t.Fatal(err)
			}
		}
		message := rec.bytes("client_finished_clear")
		message[messageHeader+at] ^= 1
		var out half
		out.protect(rec.secrets().client())
		_, err := feed(&s.state, out.seal(nil, typeHandshake, message))
		wantAlert(t, fmt.Sprint("byte ", at), err, AlertHandshakeFailure)
	}
}

// TestRecordsOfWrongLength sends encrypted records of every length that is too short,
// cut or longer than the sealed one.
func TestRecordsOfWrongLength(t *testing.T) {
	for size := range 80 {
		p := newPair(t)
		p.shake()
		wire := p.client.out.seal(nil, typeData, []byte("0123456789abcdef0123456789abcdef"))
		whole := len(wire) - headerLen
		if size == whole {
			continue
		}
		wire = append(wire, make([]byte, 80)...)[:headerLen+size]
		wire[4] = byte(size)
		_, err := feed(&p.server.state, wire)
		wantAlert(t, fmt.Sprint(size, " bytes"), err, AlertBadRecordMAC)
	}
}

func TestReplayedRecords(t *testing.T) {
	p := newPair(t)
	p.shake()
	wire := p.client.out.seal(nil, typeData, []byte("pay 1"))
	if _, err := feed(&p.server.state, bytes.Clone(wire)); err != nil {
		t.Fatal(err)
	}
	_, err := feed(&p.server.state, wire)
	wantAlert(t, "the same record again", err, AlertBadRecordMAC)
}

func TestAfterTheHandshake(t *testing.T) {
	for name, tc := range map[string]struct {
		typ     contentType
		payload []byte
		want    Alert
	}{
		"handshake message": {typeHandshake, []byte{1, 0, 0, 0}, AlertUnexpectedMessage},
		"change":            {typeChangeCipherSpec, []byte{1}, AlertUnexpectedMessage},
		"empty alert":       {typeAlert, nil, AlertUnexpectedMessage},
	} {
		p := newPair(t)
		p.shake()
		_, err := feed(&p.server.state, p.client.out.seal(nil, tc.typ, tc.payload))
		wantAlert(t, name, err, tc.want)
	}
}

func TestRecordsWithoutData(t *testing.T) {
	p := newPair(t)
	p.shake()
	for range maxIdleRecords {
		if _, err := feed(&p.server.state, p.client.out.seal(nil, typeData, nil)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := feed(&p.server.state, p.client.out.seal(nil, typeData, []byte("x"))); err != nil {
		t.Fatal(err)
	}
	for range maxIdleRecords {
		if _, err := feed(&p.server.state, p.client.out.seal(nil, typeAlert, []byte{levelWarning, 90})); err != nil {
			t.Fatal(err)
		}
	}
	_, err := feed(&p.server.state, p.client.out.seal(nil, typeData, nil))
	wantAlert(t, "one more", err, AlertUnexpectedMessage)
}

func TestAlerts(t *testing.T) {
	for name, tc := range map[string]struct {
		alert []byte
		check func(error) bool
	}{
		"close_notify": {[]byte{levelWarning, 0}, func(err error) bool { return errors.Is(err, io.EOF) }},
		"fatal": {[]byte{levelFatal, 42}, func(err error) bool {
			e, ok := errors.AsType[*PeerError](err)
			return ok && e.Alert == 42
		}},
	} {
		p := newPair(t)
		p.shake()
		if _, err := feed(&p.server.state, p.client.out.seal(nil, typeAlert, tc.alert)); !tc.check(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPermit(t *testing.T) {
	rec := loadRecorded(t)
	asked := 0
	refused := errors.New("not now")
	s := newServer(rec.identity(), rec.random(), func() error { asked++; return refused })
	records := rec.clientRecords()
	if _, err := feed(&s.state, records[0]); err != nil || asked != 0 {
		t.Fatalf("hello: asked %d times, %v", asked, err)
	}
	if _, err := feed(&s.state, records[1]); !errors.Is(err, refused) || asked != 1 {
		t.Errorf("key: asked %d times, %v", asked, err)
	}
}
