package sakefiles

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/files"
	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/storage"
)

// Results of requests, as metrics name them.
const (
	resultOK        = "ok"
	resultDummy     = "placeholder"   // a file that does not exist, for a console
	resultMethod    = "http_method"   // not GET or not POST
	resultForm      = "file_count"    // no file, or several
	resultMissing   = "parameter"     // a parameter is missing or no number
	resultNotFound  = "not_found"     // no such file or game
	resultTooLarge  = "too_large"     // the file
	resultQuota     = "quota"         // of the player or of all
	resultBusy      = "busy"          // too many uploads at a time
	resultUnproved  = "not_signed_in" // the profile is not signed in from there
	resultBanned    = "banned"        // the account is
	resultCut       = "cut_off"       // the form ended early, or came too slowly
	resultMalformed = "malformed"     // the body is no form
	resultFailed    = "failed"        // the store or the disk failed
)

func results() []string {
	return []string{
		resultOK, resultDummy, resultMethod, resultForm, resultMissing, resultNotFound, resultTooLarge, resultQuota, resultBusy,
		resultUnproved, resultBanned, resultCut, resultMalformed, resultFailed,
	}
}

// metrics are the counters of the backend.
type metrics struct {
	uploads, downloads *prometheus.CounterVec // result
	received, sent     prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, table *files.Table, busy func() int) *metrics {
	f := metric.With(reg)
	usage := metric.Slow(func() (storage.FileUsage, error) { return table.Usage(context.Background()) })
	f.GaugeFunc("respawnd_webservices_files", "Files of players.", func() int { return usage().Files })
	f.GaugeFunc("respawnd_webservices_file_bytes", "Size of the files of players.", func() int { return int(usage().Bytes) })
	f.GaugeFunc("respawnd_webservices_uploads", "Uploads that are being received.", busy)
	return &metrics{
		uploads:   f.Counters("respawnd_webservices_uploads_total", "Uploads, by result.", "result", results()...),
		downloads: f.Counters("respawnd_webservices_downloads_total", "Downloads, by result.", "result", results()...),
		received:  f.Counter("respawnd_webservices_uploaded_bytes_total", "Size of files that were uploaded."),
		sent:      f.Counter("respawnd_webservices_downloaded_bytes_total", "Size of files that were downloaded."),
	}
}
