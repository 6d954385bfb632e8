package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// fileSize is the size of a file that is uploaded or downloaded, in bytes.
const fileSize = 4 << 10

// fileBoundary is that of the forms of games.
const fileBoundary = "Qr4G823s23d---<<><><<<>--7d118e0536"

// filePlayer uploads files, or downloads one.
type filePlayer struct {
	address string
	profile string
	upload  bool
	n       int    // uploads
	request []byte // of a download
}

// openUploader opens a player whose uploads all differ.
func openUploader(_ context.Context, w *world, i int) (user, error) {
	return &filePlayer{address: w.daemon.at("webservices").String(), profile: w.players[i].id, upload: true}, nil
}

// openDownloader opens a player who downloads a file of its own.
func openDownloader(ctx context.Context, w *world, i int) (user, error) {
	p := &filePlayer{address: w.daemon.at("webservices").String(), profile: w.players[i].id}
	answer, err := p.send(ctx, p.form())
	if err != nil {
		return nil, err
	}
	_, id, found := strings.Cut(answer, "\r\nSake-File-Id: ")
	if !found {
		return nil, fmt.Errorf("upload: %.200q", answer)
	}
	id, _, _ = strings.Cut(id, "\r\n")
	p.request = fmt.Appendf(nil, "GET /SakeFileServer/download.aspx?fileid=%s&gameid=0&pid=%s HTTP/1.1\r\nHost: %s.sake.gamespy.com\r\nConnection: close\r\n\r\n",
		id, p.profile, game)
	return p, nil
}

// form returns an upload.
func (p *filePlayer) form() []byte {
	p.n++
	content := fmt.Sprintf("%s-%d-%d", p.profile, p.n, time.Now().UnixNano())
	body := "--" + fileBoundary + "\r\nContent-Disposition: form-data; name=\"filedata\"; filename=\"f.bin\"\r\n\r\n" +
		content + strings.Repeat("x", fileSize-len(content)) + "\r\n--" + fileBoundary + "--\r\n"
	return fmt.Appendf(nil, "POST /SakeFileServer/upload.aspx?gameid=0&pid=%s HTTP/1.1\r\nHost: %s.sake.gamespy.com\r\nConnection: close\r\n"+
		"Content-Length: %d\r\nContent-Type: multipart/form-data; boundary=%s\r\n\r\n%s", p.profile, game, len(body), fileBoundary, body)
}

// do is a connection with an upload or a download.
func (p *filePlayer) do(ctx context.Context) error {
	request := p.request
	if p.upload {
		request = p.form()
	}
	answer, err := p.send(ctx, request)
	if err == nil && !strings.Contains(answer, "\r\nSake-File-Result: 0\r\n") {
		err = fmt.Errorf("answer %.200q", answer)
	}
	if err == nil && !p.upload && len(answer) < fileSize {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// send sends a request and returns the whole answer.
func (p *filePlayer) send(ctx context.Context, request []byte) (string, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp4", p.address)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return "", err
	}
	if _, err := conn.Write(request); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(conn)
	return string(answer), err
}

func (p *filePlayer) close(bool) {}
