package webservices

import (
	"context"
	"fmt"
	"net/url"
)

// formBoundary is that of the uploads of games.
const formBoundary = "Qr4G823s23d---<<><><<<>--7d118e0536"

// Upload stores a file of a profile, which has signed in or shown its ticket from the
// same address, and returns its id. It announces a length as games do.
func (s *Storage) Upload(ctx context.Context, profile, name, content string) (id string, err error) {
	body := "--" + formBoundary + "\r\nContent-Disposition: form-data; name=\"filedata\"; filename=\"" + name + "\"\r\n" +
		"Content-Type: application/octet-stream\r\n\r\n" + content + "\r\n--" + formBoundary + "--\r\n"
	header, _, err := s.roundTrip(ctx, fmt.Appendf(nil, "POST /SakeFileServer/upload.aspx?gameid=0&pid=%s HTTP/1.1\r\nHost: %s\r\n"+
		"User-Agent: GameSpyHTTP/1.0\r\nConnection: close\r\nContent-Length: %d\r\nContent-Type: multipart/form-data; boundary=%s\r\n\r\n%s",
		url.QueryEscape(profile), s.Host, len(body), formBoundary, body))
	if err != nil {
		return "", err
	}
	if result := header.Get("Sake-File-Result"); result != "0" {
		return "", fmt.Errorf("%w: upload: %.20q", ErrStorage, result)
	}
	return header.Get("Sake-File-Id"), nil
}

// Download returns a file for a profile.
func (s *Storage) Download(ctx context.Context, profile, id string) (content string, err error) {
	header, body, err := s.roundTrip(ctx, fmt.Appendf(nil, "GET /SakeFileServer/download.aspx?fileid=%s&gameid=0&pid=%s HTTP/1.1\r\nHost: %s\r\n"+
		"User-Agent: GameSpyHTTP/1.0\r\nConnection: close\r\n\r\n", url.QueryEscape(id), url.QueryEscape(profile), s.Host))
	if err != nil {
		return "", err
	}
	if result := header.Get("Sake-File-Result"); result != "0" {
		return "", fmt.Errorf("%w: download: %.20q", ErrStorage, result)
	}
	return string(body), nil
}
