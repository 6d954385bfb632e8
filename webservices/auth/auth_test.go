package auth

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/rand"
	"crypto/rsa"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"math/big"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/records"
	"github.com/respawnd/respawnd/webservices/soap"
)

// recording is a request of the original client, with the reply that it accepted.
type recording struct {
	Action           string
	RequestBody      string `json:"request_body"`
	Response         string
	Block            string `json:"decrypted_password_block_hex"`
	Password         string
	CertificateMD5   string `json:"cert_md5"`
	SignatureDecoded string `json:"signature_decoded_hex"`
	PrivateKeyMD5    string `json:"private_key_md5_proof"`
	Identity         bool
}

// recordings returns the recorded requests and the private peer key of their
// replies.
func recordings(t *testing.T) (list []recording, peerPrivate string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "requests.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		PeerPrivate string `json:"peer_private"`
		Requests    []recording
	}
	if err := json.Unmarshal(text, &file); err != nil || len(file.Requests) != 8 {
		t.Fatalf("%d recordings, %v", len(file.Requests), err)
	}
	return file.Requests, file.PeerPrivate
}

// recordedKey returns the service key of the recordings.
func recordedKey(t testing.TB) *Key {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "service.key"))
	if err != nil {
		t.Fatal(err)
	}
	k, err := parseKey(text)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestRecordedPasswords(t *testing.T) {
	list, _ := recordings(t)
	k := recordedKey(t)
	for _, r := range list {
		q, err := soap.Parse([]byte(r.RequestBody))
		if err != nil || q.Name != r.Action {
			t.Fatalf("Parse() = %v, %v, want %s", q, err, r.Action)
		}
		if r.Block == "" {
			continue
		}
		block, ok := decodeValue(q.Child("password").Text("Value"))
		if !ok {
			t.Fatalf("%s: not a block", r.Action)
		}
		undecryptable := strings.HasPrefix(r.Password, "(")
		if r.Identity {
			if password, ok := unpad(block); !ok || string(password) != r.Password {
				t.Errorf("identity: %q, %t, want %q", password, ok, r.Password)
			}
			undecryptable = true // a block in clear is refused with a key
		}
		if password, ok := k.decrypt(block); ok == undecryptable || ok && string(password) != r.Password {
			t.Errorf("keypair: %q, %t, want %q", password, ok, r.Password)
		}
	}
}

func TestRecordedCertificates(t *testing.T) {
	list, private := recordings(t)
	k := recordedKey(t)
	checked := 0
	for _, r := range list {
		if r.CertificateMD5 == "" {
			continue
		}
		e, err := soap.Parse([]byte(r.Response))
		if err != nil {
			t.Fatal(err)
		}
		result := e.Child(r.Action + "Result")
		c, ok := readCertificate(result.Child("certificate"))
		if !ok {
			t.Fatalf("%s: no certificate in %s", r.Action, r.Response)
		}
		sum := md5.Sum(c.message(nil, c.serverData))
		if hex.EncodeToString(sum[:]) != r.CertificateMD5 {
			t.Errorf("%s: MD5 %x, want %s", r.Action, sum, r.CertificateMD5)
		}
		if r.SignatureDecoded != "" && hex.EncodeToString(signatureBlock(sum)) != r.SignatureDecoded {
			t.Errorf("%s: block %x, want %s", r.Action, signatureBlock(sum), r.SignatureDecoded)
		}
		if wrong := r.Password == "badsig"; !r.Identity && r.Action != "LoginRemoteAuth" && c.isSigned(k, false) == wrong {
			t.Errorf("%s with %q: signature valid %t", r.Action, r.Password, !wrong)
		}
		recorded := bytes.Clone(c.signature)
		if err := c.sign(k, r.Identity); err != nil || r.Password != "badsig" && r.Action != "LoginRemoteAuth" && !bytes.Equal(c.signature, recorded) {
			t.Errorf("%s: signature %x, %v, want %x", r.Action, c.signature, err, recorded)
		}
		if d, err := hex.DecodeString(private); err != nil || r.PrivateKeyMD5 != "" && ProofOf(d) != r.PrivateKeyMD5 {
			t.Errorf("proof %s, %v, want %s", ProofOf(d), err, r.PrivateKeyMD5)
		}
		checked++
	}
	if checked != 6 {
		t.Errorf("%d certificates, want 6", checked)
	}
}

func TestPeerKeys(t *testing.T) {
	k := recordedKey(t)
	p := k.peer()
	n, message := new(big.Int).SetBytes(p.modulus), big.NewInt(123456789)
	if n.BitLen() != keyBits {
		t.Fatalf("a modulus of %d bits", n.BitLen())
	}
	seen := make(map[string]bool)
	for i := range byte(5) {
		d := p.exponentOf([]byte{i}, exponentBytes)
		if len(d) > keyBytes || seen[ProofOf(d)] {
			t.Errorf("exponent of %d bytes, seen before: %t", len(d), seen[ProofOf(d)])
		}
		seen[ProofOf(d)] = true
		signed := new(big.Int).Exp(message, new(big.Int).SetBytes(d), n)
		if signed.Exp(signed, big.NewInt(exponent), n).Cmp(message) != 0 {
			t.Errorf("exponent %d does not belong to the modulus", i)
		}
	}
	again := newPeer(derive(k.private.D.Bytes(), "respawnd peer key"))
	if !bytes.Equal(again.modulus, p.modulus) || !bytes.Equal(again.exponentOf([]byte{1}, exponentBytes), p.exponentOf([]byte{1}, exponentBytes)) {
		t.Error("a restart changes the peer key")
	}
}

func TestKeyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), KeyName)
	if _, err := ReadKey(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("ReadKey of a missing file: %v", err)
	}
	made, err := OpenKey(path)
	if err != nil {
		t.Fatal(err)
	}
	read, err := OpenKey(path)
	if err != nil || read.Modulus() != made.Modulus() || len(read.Modulus()) != 256 {
		t.Fatalf("OpenKey() = %v, want the key that was made", err)
	}
	if text := made.Explain(); !strings.Contains(text, made.Modulus()) || !strings.Contains(text, OriginalModulus) || len(OriginalModulus) != 256 {
		t.Errorf("Explain() = %s", text)
	}
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
	if err := writeKey(path, made.private); !errors.Is(err, fs.ErrExist) {
		t.Errorf("writeKey over a key: %v", err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.Chmod(path, 0o640); err != nil { //gosec:disable G302 -- that is what is tested
		t.Fatal(err)
	}
	if _, err := OpenKey(path); !errors.Is(err, ErrKeyExposed) {
		t.Errorf("OpenKey of an exposed file: %v", err)
	}
}

func TestReadKeyRejects(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "text": "hello", "other type": "-----BEGIN PRIVATE KEY-----\naGVsbG8=\n-----END PRIVATE KEY-----\n",
		"no key": "-----BEGIN RSA PRIVATE KEY-----\naGVsbG8=\n-----END RSA PRIVATE KEY-----\n", "long": strings.Repeat("x", maxKeyFile+1),
	} {
		path := filepath.Join(t.TempDir(), KeyName)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenKey(path); !errors.Is(err, ErrKeyFile) {
			t.Errorf("%s: OpenKey() = %v, want ErrKeyFile", name, err)
		}
	}
}

// fixture is a backend with one account.
type fixture struct {
	t        testing.TB
	backend  *Backend
	store    *records.Store
	accounts *accounts.Service
	profile  storage.Profile
	log      *verdicts.Log
}

// alice is the account of a fixture.
func alice() accounts.Registration {
	return accounts.Registration{Namespace: 1, Email: "a@example.com", Nick: "MyNick", UniqueNick: "uniqueguy", Password: "secretpw"}
}

// client is the address of the requests.
var client = netip.MustParseAddrPort("192.0.2.1:4000")

func build(t testing.TB, edit func(*Options)) *fixture {
	t.Helper()
	dir := t.TempDir()
	store := storetest.New(t)
	service, err := accounts.Open(t.Context(), store, accounts.Options{KeyFile: filepath.Join(dir, "account.key")})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, store: store, accounts: service, log: verdicts.NewLog(zerolog.Nop(), 0)}
	if f.profile, err = service.Users.Register(t.Context(), alice()); err != nil {
		t.Fatal(err)
	}
	opt := Options{Key: recordedKey(t), Accounts: service, Store: store, Peers: part.Peers{Verdicts: f.log}, Self: part.Self{Name: "webservices", Registerer: prometheus.NewRegistry()}}
	if edit != nil {
		edit(&opt)
	}
	f.backend = New(opt)
	return f
}

// call executes a method with fields, and returns the content of its Result.
func (f *fixture) call(method, fields string) *soap.Element {
	f.t.Helper()
	body, err := soap.Parse([]byte("<Envelope><Body><" + method + ">" + fields + "</" + method + ">"))
	if err != nil {
		f.t.Fatal(err)
	}
	h := f.backend.Services()[0].Methods[method]
	if h == nil {
		f.t.Fatalf("no method %s", method)
	}
	e, err := soap.Parse(h(context.Background(), &soap.Request{Method: method, From: client, Body: body, Game: "gmtest"}))
	if err != nil || e.Child(method+"Result") == nil {
		f.t.Fatalf("reply %v, %v", e, err)
	}
	return e.Child(method + "Result")
}

// sealed returns a password as a game sends it.
func (f *fixture) sealed(password string) string {
	f.t.Helper()
	var block []byte
	var err error
	if f.backend.opt.Identity {
		block = append(append([]byte{0, 2}, bytes.Repeat([]byte{7}, keyBytes-3-len(password))...), 0)
		block = append(block, password...)
	} else if block, err = rsa.EncryptPKCS1v15(rand.Reader, &f.backend.opt.Key.private.PublicKey, []byte(password)); err != nil {
		f.t.Fatal(err)
	}
	return "<password><Value>" + hex.EncodeToString(block) + "</Value></password>"
}

const header = "<version>1</version><partnercode>0</partnercode><namespaceid>1</namespaceid>"

func TestSignIn(t *testing.T) {
	for name, identity := range map[string]bool{"keypair": false, "identity": true} {
		t.Run(name, func(t *testing.T) {
			f := build(t, func(o *Options) { o.Identity = identity })
			token := f.accounts.Grants.IssueToken(f.profile.ID, 0, false)
			value := hex.EncodeToString(make([]byte, keyBytes))
			for name, test := range map[string]struct {
				method, fields, code string
			}{
				"unique nick":            {"LoginUniqueNick", header + "<uniquenick>uniqueguy</uniquenick>" + f.sealed("secretpw"), "0"},
				"unique nick, game":      {"LoginUniqueNickWithGameId", header + "<gameid>1</gameid><uniquenick>uniqueguy</uniquenick>" + f.sealed("secretpw"), "0"},
				"profile":                {"LoginProfile", header + "<email>a@example.com</email><profilenick>MyNick</profilenick>" + f.sealed("secretpw"), "0"},
				"token":                  {"LoginRemoteAuth", header + "<authtoken>" + token.Value + "</authtoken><challenge>" + token.Challenge + "</challenge>", "0"},
				"new account":            {"CreateUserAccount", header + "<email>b@example.com</email><profilenick>Bob</profilenick><uniquenick>bob</uniquenick>" + f.sealed("pw pw"), "0"},
				"account of another":     {"CreateUserAccount", header + "<email>a@example.com</email><profilenick>Bob</profilenick>" + f.sealed("x"), "3"},
				"taken unique nick":      {"CreateUserAccount", header + "<email>c@example.com</email><profilenick>C</profilenick><uniquenick>UniqueGuy</uniquenick>" + f.sealed("x"), "5"},
				"new account, no value":  {"CreateUserAccount", header, "7"},
				"new account, bad value": {"CreateUserAccount", header + "<password><Value>" + value + "</Value></password>", "3"},
				"wrong password":         {"LoginUniqueNick", header + "<uniquenick>uniqueguy</uniquenick>" + f.sealed("wrong"), "3"},
				"wrong block":            {"LoginUniqueNick", header + "<uniquenick>uniqueguy</uniquenick><password><Value>" + value + "</Value></password>", "3"},
				"not a block":            {"LoginUniqueNick", header + "<uniquenick>uniqueguy</uniquenick><password><Value>secretpw</Value></password>", "7"},
				"unknown nick":           {"LoginUniqueNick", header + "<uniquenick>other</uniquenick>" + f.sealed("secretpw"), "2"},
				"unknown e-mail":         {"LoginProfile", header + "<email>b@example.org</email><profilenick>MyNick</profilenick>" + f.sealed("secretpw"), "2"},
				"unknown profile":        {"LoginProfile", header + "<email>a@example.com</email><profilenick>Other</profilenick>" + f.sealed("secretpw"), "4"},
				"bad token":              {"LoginRemoteAuth", header + "<authtoken>x</authtoken><challenge>y</challenge>", "3"},
				"no token":               {"LoginRemoteAuth", header, "3"},
				"console":                {"LoginPs3Cert", header + "<npticket><Value>AQID</Value></npticket>", "7"},
				"wrong types":            {"LoginUniqueNick", "<namespaceid>x</namespaceid><uniquenick>uniqueguy</uniquenick>" + f.sealed("secretpw"), "7"},
				"negative":               {"LoginUniqueNick", "<partnercode>-1</partnercode><uniquenick>uniqueguy</uniquenick>" + f.sealed("secretpw"), "7"},
				"nothing":                {"LoginProfile", "", "7"},
			} {
				r := f.call(test.method, test.fields)
				if r.Text("responseCode") != test.code || (test.code == "0") != (r.Child("certificate") != nil) || test.code != "0" && len(r.Children) != 1 {
					t.Errorf("%s: code %s with %d elements, want %s", name, r.Text("responseCode"), len(r.Children), test.code)
				}
			}
		})
	}
}

// TestUnreadablePassword signs in with a password that is encrypted for another server.
func TestUnreadablePassword(t *testing.T) {
	value := "<password><Value>" + strings.Repeat("01", keyBytes) + "</Value></password>"
	for name, identity := range map[string]bool{"keypair": false, "identity": true} {
		for method, fields := range map[string]string{
			"LoginUniqueNick":   "<uniquenick>uniqueguy</uniquenick>",
			"CreateUserAccount": "<email>b@example.com</email><profilenick>Bob</profilenick>",
		} {
			f := build(t, func(o *Options) { o.Identity = identity })
			if code := f.call(method, header+fields+value).Text("responseCode"); code != "3" {
				t.Errorf("%s, %s: code %s, want 3 as for a wrong password", name, method, code)
			}
			if log := f.log.Of(client.Addr()); len(log) != 1 || log[0].Verdict != verdicts.UnreadablePassword {
				t.Errorf("%s, %s: verdicts %v, want UnreadablePassword", name, method, log)
			}
		}
	}
}

func TestThrottling(t *testing.T) {
	f := build(t, nil)
	for range accounts.MaxFailures {
		f.call("LoginUniqueNick", header+"<uniquenick>uniqueguy</uniquenick>"+f.sealed("wrong"))
	}
	if r := f.call("LoginUniqueNick", header+"<uniquenick>uniqueguy</uniquenick>"+f.sealed("secretpw")); r.Text("responseCode") != "7" {
		t.Errorf("after too many failures: code %s, want 7", r.Text("responseCode"))
	}
	log := f.log.Of(client.Addr())
	if last := log[len(log)-1]; last.Verdict != verdicts.Limited && log[0].Verdict != verdicts.Limited {
		t.Errorf("verdicts %v", log)
	}
	f.backend.SetRegistrations(1)
	account := func(email string) string {
		return f.call("CreateUserAccount", header+"<email>"+email+"</email><profilenick>B</profilenick>"+f.sealed("x")).Text("responseCode")
	}
	if first, second := account("b@example.com"), account("c@example.com"); first != "0" || second != "7" {
		t.Errorf("two accounts, one allowed: codes %s and %s", first, second)
	}
	unreadable := header + "<password><Value>" + strings.Repeat("01", keyBytes) + "</Value></password>"
	if code := f.call("CreateUserAccount", unreadable).Text("responseCode"); code != "7" {
		t.Errorf("over the quota an unreadable password has code %s, want 7", code)
	}
}

func TestVerify(t *testing.T) {
	for name, identity := range map[string]bool{"keypair": false, "identity": true} {
		t.Run(name, func(t *testing.T) {
			f := build(t, func(o *Options) { o.Identity = identity })
			r := f.call("LoginUniqueNick", header+"<uniquenick>uniqueguy</uniquenick>"+f.sealed("secretpw"))
			c := r.Child("certificate")
			private, err := hex.DecodeString(r.Text("peerkeyprivate"))
			if err != nil {
				t.Fatal(err)
			}
			proof := ProofOf(private)
			verify := func(c *soap.Element, proof string) error {
				id, err := f.backend.Verify(t.Context(), c, proof, client.Addr())
				if err == nil && id != f.profile.ID {
					t.Errorf("Verify() = %d, want %d", id, f.profile.ID)
				}
				return err
			}
			if err := verify(c, proof); err != nil {
				t.Fatalf("Verify() = %v", err)
			}
			for i := range c.Children {
				value := c.Children[i].Value
				c.Children[i].Value = lower(value)
				if err := verify(c, strings.ToUpper(proof)); err != nil {
					t.Errorf("%s in lower case: %v", c.Children[i].Name, err)
				}
				for _, forged := range []string{change(value), "", value + "1"} {
					c.Children[i].Value = forged
					if err := verify(c, proof); err == nil && forged != value {
						t.Errorf("%s changed to %q: accepted", c.Children[i].Name, forged)
					}
				}
				c.Children[i].Value = value
			}
			if err := verify(c, ProofOf([]byte{1})); !errors.Is(err, ErrProof) {
				t.Errorf("another proof: %v", err)
			}
			if err := verify(nil, proof); !errors.Is(err, ErrCertificate) {
				t.Errorf("no certificate: %v", err)
			}
			other := New(Options{Key: f.backend.opt.Key, Identity: identity, Accounts: f.accounts, Store: f.store})
			if _, err := other.Verify(t.Context(), c, proof, client.Addr()); err != nil {
				t.Errorf("after a restart: %v", err)
			}
			other.opt.Identity = !identity
			if _, err := other.Verify(t.Context(), c, proof, client.Addr()); !errors.Is(err, ErrCertificate) {
				t.Errorf("in the other mode: %v", err)
			}
			if err := f.accounts.Passwords.Change(t.Context(), f.profile.User, "secretpw"); err != nil {
				t.Fatal(err)
			}
			if err := verify(c, proof); !errors.Is(err, ErrEnded) {
				t.Errorf("after the password was set: %v, want ErrEnded", err)
			}
			if err := f.accounts.Users.Ban(t.Context(), f.profile.User, time.Time{}, "", ""); err != nil {
				t.Fatal(err)
			}
			if err := verify(c, proof); !errors.Is(err, accounts.ErrBanned) {
				t.Errorf("banned: %v", err)
			}
			if err := f.accounts.Users.Delete(t.Context(), f.profile.User); err != nil {
				t.Fatal(err)
			}
			if err := verify(c, proof); !errors.Is(err, accounts.ErrProfileDeleted) {
				t.Errorf("deleted: %v", err)
			}
		})
	}
}

// lower returns hex digits in lower case, and other texts as they are.
func lower(value string) string {
	if len(value) == 2*keyBytes {
		return strings.ToLower(value)
	}
	return value
}

// change changes the last character of a value.
func change(value string) string {
	if value == "" {
		return "1"
	}
	last := byte('1')
	if value[len(value)-1] == '1' {
		last = '2'
	}
	return value[:len(value)-1] + string(last)
}

func TestExpiredCertificate(t *testing.T) {
	f := build(t, nil)
	l, err := f.accounts.SignIn.CheckProof(t.Context(), accounts.Proof{UniqueNick: "uniqueguy", Namespace: 1, Digest: hexMD5("secretpw")})
	if err != nil {
		t.Fatal(err)
	}
	c, private, err := f.backend.issue(&proof{}, &l, time.Now().Add(-Life))
	if err != nil {
		t.Fatal(err)
	}
	e, err := soap.Parse(reply("M", codeOK, c, private))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.backend.Verify(t.Context(), e.Child("MResult").Child("certificate"), ProofOf(private), client.Addr()); !errors.Is(err, ErrExpired) {
		t.Errorf("Verify() = %v, want ErrExpired", err)
	}
}

func hexMD5(text string) string {
	sum := md5.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

// FuzzCertificate checks that no certificate but one of ours is accepted, whatever
// its fields are.
func FuzzCertificate(f *testing.F) {
	f.Add("MyNick", "uniqueguy", "BD45", "010001", strings.Repeat("00", keyBytes), strings.Repeat("FF", keyBytes), int64(1))
	f.Add("", "", "", "", "", "", int64(-1))
	k := recordedKey(f)
	f.Fuzz(func(t *testing.T, nick, unique, modulus, exponent, data, signature string, n int64) {
		body := soap.Reply("M", "", func(w *soap.Writer) {
			w.Open("certificate")
			for _, name := range []string{"length", "version", "partnercode", "namespaceid", "userid", "profileid", "expiretime"} {
				w.Int(name, n)
			}
			w.Text("profilenick", nick)
			w.Text("uniquenick", unique)
			w.Text("peerkeymodulus", modulus)
			w.Text("peerkeyexponent", exponent)
			w.Text("serverdata", data)
			w.Text("signature", signature)
			w.Close()
		})
		e, err := soap.Parse(body)
		if err != nil {
			t.Fatal(err)
		}
		c, ok := readCertificate(e.Child("certificate"))
		if ok && (c.isOurs(k) || c.isSigned(k, false)) {
			t.Errorf("accepted %+v", c)
		}
	})
}

func BenchmarkSignIn(b *testing.B) {
	f := build(b, nil)
	fields := header + "<uniquenick>uniqueguy</uniquenick>" + f.sealed("secretpw")
	b.ReportAllocs()
	for b.Loop() {
		f.call("LoginUniqueNick", fields)
	}
}
