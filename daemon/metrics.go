package daemon

import (
	"context"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/internal/noun"
)

// writeBuckets are the limits of respawnd_store_write_seconds: a fast disk takes
// less than a millisecond, and a write is stalled after writeStalled.
var writeBuckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// measure registers the metrics of the daemon as a whole. The services and the
// shared parts have their own.
func (d *Daemon) measure(settings *settings) {
	in := metric.With(d.metrics)
	in.NewGauge(prometheus.GaugeOpts{
		Name: "respawnd_build_info", Help: "Always 1; the labels are the version of the program and that of Go.",
		ConstLabels: prometheus.Labels{"version": d.opt.Version, "goversion": runtime.Version()},
	}).Set(1)
	in.GaugeFunc("respawnd_ready", "1 while /readyz answers 200, otherwise 0.", func() int {
		if d.ready() != nil {
			return 0
		}
		return 1
	})
	in.GaugeFunc("respawnd_bans", "Bans in force, without those in files.", func() int { return d.bans.Count(time.Now()) })
	d.metrics.MustRegister(
		newCensus(d.registry.Populations, func(game string) bool { _, ok := d.catalogue.Catalog().Lookup(game); return ok }),
		newOptional("respawnd_postgres_away_seconds", "Time for which the database has been away, 0 while it is there.", func() (float64, bool) {
			return d.writable.awaySeconds(), d.settings.Load().Storage.Shared()
		}),
		newOptional("respawnd_disk_free_bytes", "Bytes that the daemon may still write to the disk of its data folder.", d.writable.freeBytes),
	)
	if settings.nouns().Has(noun.Accounts) {
		d.measureAccounts()
	}
	d.measureWrites(in)
	d.reloads = newReloads(in, time.Now())
}

func (d *Daemon) measureAccounts() {
	accounts := metric.Slow(func() (*int, error) {
		n, err := d.store.CountUsers(context.Background())
		return &n, err
	})
	d.metrics.MustRegister(newOptional("respawnd_accounts", "Accounts; each has one or more profiles.", func() (float64, bool) {
		n := accounts()
		if n == nil {
			return 0, false
		}
		return float64(*n), true
	}))
}

func (d *Daemon) measureWrites(in metric.Factory) {
	all := in.Counter("respawnd_store_writes_total", "Writes of the store to the disk, with failed ones. Changes that wait for the disk share a write.")
	failed := in.Counter("respawnd_store_write_errors_total", "Writes of the store that the disk or a damaged file refused.")
	seconds := in.NewHistogram(prometheus.HistogramOpts{
		Name: "respawnd_store_write_seconds", Help: "Time that the writes of the store took until they were on the disk, without failed ones.", Buckets: writeBuckets,
	})
	d.store.OnWrite(func(took time.Duration, err error) {
		all.Inc()
		if err != nil {
			failed.Inc()
			return
		}
		seconds.Observe(took.Seconds())
	})
}

// optional is a gauge that is left out while its value is unknown.
type optional struct {
	desc  *prometheus.Desc
	value func() (v float64, known bool)
}

func newOptional(name, help string, value func() (float64, bool)) *optional {
	return &optional{prometheus.NewDesc(name, help, nil, nil), value}
}

// Describe implements prometheus.Collector.
func (o *optional) Describe(to chan<- *prometheus.Desc) { to <- o.desc }

// Collect implements prometheus.Collector.
func (o *optional) Collect(to chan<- prometheus.Metric) {
	if v, known := o.value(); known {
		to <- prometheus.MustNewConstMetric(o.desc, prometheus.GaugeValue, v)
	}
}

type reloads struct{ success, last prometheus.Gauge }

// newReloads counts the start of the daemon as a reload.
func newReloads(in metric.Factory, now time.Time) *reloads {
	r := &reloads{
		success: in.Gauge("respawnd_last_reload_success", "1 if the last reload, or the start, was successful, 0 if it was refused because of a mistake."),
		last:    in.Gauge("respawnd_last_reload_success_timestamp_seconds", "Time of the last successful reload, or of the start, in seconds since 1970."),
	}
	r.ended(nil, now)
	return r
}

// ended records the result of a reload.
func (r *reloads) ended(err error, now time.Time) {
	if err != nil {
		r.success.Set(0)
		return
	}
	r.success.Set(1)
	r.last.Set(float64(now.UnixMilli()) / 1000)
}
