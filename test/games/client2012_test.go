package games

import (
	"bytes"
	"crypto/rsa"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/test/rig"
	"github.com/respawnd/respawnd/webservices"
	"github.com/respawnd/respawnd/webservices/auth"
	"github.com/respawnd/respawnd/webservices/competition"
	"github.com/respawnd/respawnd/webservices/sake"
	"github.com/respawnd/respawnd/webservices/soap"
)

// client2012 asks as the client library of 2012 does, in what it differs from earlier ones.
type client2012 struct {
	*testing.T
	address     string
	key         *rsa.PublicKey
	certificate string // children of the element
	proof       string
}

// post sends a request to a path of the library's own host and returns its reply. action is the
// method that SOAPAction names.
func (c *client2012) post(at, contentType, action string, body []byte) (http.Header, string) {
	c.Helper()
	r, err := http.NewRequestWithContext(c.Context(), http.MethodPost, "http://"+c.address+at, bytes.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	r.Host = "gmtest.api.gamespy.com"
	r.Header = http.Header{
		"User-Agent": {"GameSpyHTTP/1.0"}, "Content-Type": {contentType}, "Accesskey": {"39cf9714e24f421c8ca07b9bcb36c0f5"}, "Gameid": {"0"},
		"Soapaction": {`"http://gamespy.net/x/` + action + `"`},
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		c.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		c.Fatalf("%s %s: status %d, %v", at, action, answer.StatusCode, err)
	}
	return answer.Header, string(text)
}

// call executes a method and returns the content of its Response.
func (c *client2012) call(at, action, method, fields string, report []byte) *soap.Element {
	c.Helper()
	body := []byte(`<?xml version="1.0" encoding="UTF-8"?><SOAP-ENV:Envelope xmlns:ns1="urn:x"><SOAP-ENV:Body><ns1:` + method + ">" + fields +
		"</ns1:" + method + "></SOAP-ENV:Body></SOAP-ENV:Envelope>")
	kind := "text/xml"
	if report != nil {
		body, kind = competition.AppendMessage(nil, body, report), "application/dime"
	}
	_, text := c.post(at, kind, action, body)
	e, err := soap.Parse([]byte(text))
	if err != nil {
		c.Fatalf("%s: %v in %s", method, err, text)
	}
	return e
}

// signIn signs in with a method, and keeps the certificate and the proof as the library does:
// after a sign-in by profile that of the public exponent.
func (c *client2012) signIn(action, method, who string) {
	c.Helper()
	block, err := webservices.PasswordBlock(c.key, "pass")
	if err != nil {
		c.Fatal(err)
	}
	e := c.call(auth.Path, action, method, "<version>1</version><gameid>0</gameid><partnercode>0</partnercode><namespaceid>1</namespaceid>"+who+
		"<password><Value>"+hex.EncodeToString(block)+"</Value></password>", nil).Child(method + "Result")
	certificate := e.Child("certificate")
	if code := e.Text("responseCode"); code != "0" || certificate == nil {
		c.Fatalf("%s: code %s", method, code)
	}
	c.certificate = ""
	for _, f := range certificate.Children {
		c.certificate += "<" + f.Name + ">" + f.Value + "</" + f.Name + ">"
	}
	exponent := e.Text("peerkeyprivate")
	if method == "LoginProfileWithGameId" {
		exponent = certificate.Text("peerkeyexponent")
	}
	b, err := hex.DecodeString(exponent)
	if err != nil {
		c.Fatal(err)
	}
	c.proof = auth.ProofOf(bytes.TrimLeft(b, "\x00"))
}

// signed is call with the certificate and the proof in front of the fields.
func (c *client2012) signed(at, method, fields string, report []byte) *soap.Element {
	c.Helper()
	return c.call(at, method, method, "<gameid>0</gameid><certificate>"+c.certificate+"</certificate><proof>"+c.proof+"</proof>"+fields, report)
}

// TestClientOf2012 runs the web half of the client library of 2012 with two players, one signed
// in by unique nick and one by profile: records, files, and a match that both report.
func TestClientOf2012(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := rig.OnlyEnv(dir, []string{"webservices", "admin"})
	for _, nick := range []string{"Ann", "Ben"} {
		rig.Typed(t, env, "pass\n", "account", "create", "--email", nick+"@example.com", "--nick", nick, "--uniquenick", nick, "--password-stdin")
	}
	d := rig.StartWithout(t, env)
	key, err := auth.ReadKey(filepath.Join(dir, auth.KeyName))
	if err != nil {
		t.Fatal(err)
	}
	players := [2]*client2012{}
	for i := range players {
		players[i] = &client2012{T: t, address: d.Address["webservices"].String(), key: key.Public()}
	}
	players[0].signIn("LoginUniqueNick", "LoginUniqueNickWithGameId", "<uniquenick>Ann</uniquenick>") // the header is the library's
	players[1].signIn("LoginProfileWithGameId", "LoginProfileWithGameId", "<email>Ben@example.com</email><profilenick>Ben</profilenick>")

	for i, c := range players {
		const table = "<tableid>saves</tableid>"
		record := "<values><RecordField><name>n</name><value><intValue><value>4294967291</value></intValue></value></RecordField></values>"
		e := c.signed(sake.PublicPath, "CreateRecord", table+record, nil)
		if got := e.Text("CreateRecordResult"); got != "Success" || e.Text("recordid") != fmt.Sprint(i+1) {
			t.Fatalf("player %d: CreateRecord: %s, record %s", i, got, e.Text("recordid"))
		}
		e = c.signed(sake.PublicPath, "GetMyRecords", table+"<fields><string>n</string></fields>", nil)
		values := e.Child("values").Child("ArrayOfRecordValue").Child("RecordValue").Child("intValue")
		if values.Text("value") != "-5" {
			t.Errorf("player %d: GetMyRecords: %v", i, values)
		}
		form := "--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\r\n\r\nsaved\r\n--B--\r\n"
		header, _ := c.post(fmt.Sprintf("/SakeFileServer/upload.aspx?gameid=0&pid=%d", i+1), "multipart/form-data; boundary=B", "", []byte(form))
		if got := header.Get("Sake-File-Result"); got != "0" {
			t.Errorf("player %d: upload: result %s", i, got)
		}
	}

	for i, at := range []string{competition.Path, competition.SubmissionPath} {
		bans := players[0].signed("/ATLAS/DataService/2.0/GameConfig.asmx", "CheckProfileOnBanList", "<HostProfileId>1</HostProfileId>", nil)
		if got := bans.Child("CheckProfileOnBanListResult").Text("result"); got != "0" {
			t.Errorf("CheckProfileOnBanList: result %s", got)
		}
		do := func(c *client2012, method, fields string, report []byte) *soap.Element {
			t.Helper()
			e := c.signed(at, method, fields, report).Child(method + "Result")
			if e.Text("result") != "0" {
				t.Fatalf("%s %s: result %s, %s", path.Base(at), method, e.Text("result"), e.Text("message"))
			}
			return e
		}
		csid := do(players[0], "CreateSession", "<platformid>9</platformid>", nil).Text("csid")
		var conns [2]string
		for p, c := range players {
			conns[p] = do(c, "SetReportIntention", "<csid>"+csid+"</csid><ccid></ccid><authoritative>0</authoritative>", nil).Text("ccid")
		}
		report := reportOf(t, conns[:]...)
		for p, c := range players {
			do(c, "SubmitReport", "<csid>"+csid+"</csid><ccid>"+conns[p]+"</ccid><authoritative>0</authoritative>", report)
		}
		if out := d.Cli("matches", "list", "gmtest"); strings.Count(out, "agreed") != i+1 {
			t.Errorf("after a match at %s:\n%s", at, out)
		}
	}
	d.Stop()
}
