//! The report page in a real browser: it draws, its controls work, and it fits a desktop and a phone.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const PAGE: &str = include_str!("../src/report.html");

/// One name has tags and entities, which a page must escape.
const METHODS: [&str; 3] = ["network", "bundle </script><b>&amp;</b>", "descent"];
const INSTANCES: usize = 12;
const STEPS: [usize; 4] = [10, 25, 50, 100];

/// Before the script of the page, so that its errors are heard too.
const LISTENER: &str = r#"<script>
const heard = [];
addEventListener("error", event => heard.push(String(event.message)));
addEventListener("unhandledrejection", event => heard.push(String(event.reason)));
</script>"#;

/// Uses the page as a reader does, and sends a summary to the page around it.
const PROBE: &str = r##"<script>
addEventListener("load", () => {
  const all = selector => [...document.querySelectorAll(selector)];
  const count = selector => all(selector).length;
  const drawn = () => ["#by-step .line", "#by-step .band", "#by-time .line", ".split", "#distribution .series"].map(count);
  const overflow = () => document.documentElement.scrollWidth - innerWidth;
  const change = (control, value) => { control.value = value; control.dispatchEvent(new Event("change")); };
  const summary = { width: innerWidth, title: document.title, legend: all("#legend [data-method]").map(entry => entry.dataset.method) };

  summary.before = drawn();
  const entry = document.querySelector("#legend [data-method]");
  entry.click();
  summary.off = { pressed: entry.getAttribute("aria-pressed"), drawn: drawn(), left: all("#by-step .series").map(series => series.dataset.method) };
  entry.click();
  summary.on = { pressed: entry.getAttribute("aria-pressed"), drawn: drawn() };
  const [showAll, showNone] = all("#legend .all");
  showNone.click();
  summary.none = drawn();
  showAll.click();
  document.querySelector("#bands").click();
  summary.withoutBands = count(".band");
  document.querySelector("#bands").click();

  const chart = document.querySelector("#by-step"), box = chart.getBoundingClientRect();
  const tip = () => document.querySelector("#tip").textContent;
  chart.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
  summary.keyboardTip = tip();
  const line = chart.querySelector(".line"), middle = line.getPointAtLength(line.getTotalLength() / 2);
  chart.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + middle.x, clientY: box.top + middle.y }));
  summary.pointerTip = tip();
  chart.dispatchEvent(new PointerEvent("pointerleave"));
  summary.tipAfterwards = tip();

  const order = () => all("#table tbody tr").map(row => row.cells[0].textContent);
  all("#table thead button")[3].click();
  summary.sorted = order();
  all("#table thead button")[3].click();
  summary.unsorted = order();

  summary.sets = all("#data-sets input").map(input => {
    input.click();
    const seen = { heading: document.querySelector("#table-heading").textContent, drawn: drawn(), overflow: overflow(), strange: 0, ticks: [] };
    seen.rows = count("#table tbody tr");
    seen.best = count("#table b");
    seen.published = count("#table .published");
    for (const method of document.querySelector("#method").options) {
      change(document.querySelector("#method"), method.value);
      for (const column of document.querySelector("#column").options) {
        change(document.querySelector("#column"), column.value);
        // Numbers that went wrong show up as words, in the text or in the coordinates.
        seen.ticks.push(all("#distribution text:not(.row)").map(label => label.textContent));
        seen.strange += (document.querySelector("main").outerHTML.match(/NaN|Infinity|undefined/g) ?? []).length;
      }
    }
    change(document.querySelector("#method"), document.querySelector("#method").options[0].value);
    seen.steps = all("#by-step .tick").map(label => label.textContent);
    seen.curves = [document.querySelector("#trainings").hidden, count("#curves svg"), count("#curves details[open]")];
    seen.worst = all("#worst tbody tr").map(row => row.cells[0].textContent);
    return seen;
  });
  summary.named = all("figure svg").every(svg => svg.getAttribute("aria-label"));
  summary.errors = heard;
  parent.postMessage(JSON.stringify(summary), "*");
});
</script>"##;

/// Three data sets: the gaps of one fall slowly, those of the next down to 0, those of the last lie close together.
fn data() -> Value {
    let data_set = |name: &str, rate: f64, spread: f64| {
        let gap = |method: usize, instance: usize, step: usize| {
            let gap = 50.0 * (-rate * step as f64 / (3 - method) as f64).exp() * (1.0 + spread * instance as f64);
            if gap < 1e-9 { 0.0 } else { gap }
        };
        let curve = |value: &dyn Fn(usize) -> f64| (0..=100).map(value).collect::<Vec<f64>>();
        let methods = METHODS.iter().enumerate().map(|(method, name)| {
            json!({
                "name": name,
                "mean": curve(&|step| (0..INSTANCES).map(|instance| gap(method, instance, step)).sum::<f64>() / INSTANCES as f64),
                "low": curve(&|step| gap(method, 1, step)),
                "high": curve(&|step| gap(method, INSTANCES - 2, step)),
                "seconds": curve(&|step| 1e-4 * step as f64 * (3 - method) as f64),
                "time": { "oracle": 0.006, "master": 0.003, "network": if method == 0 { 0.02 } else { 0.0 }, "other": 0.001 },
                "gaps": (0..INSTANCES).map(|instance| STEPS.map(|step| gap(method, instance, step))).collect::<Vec<_>>(),
                "paper": if method == 0 { json!([9.2, 1.75, 0.53, 0.17]) } else { Value::Null },
            })
        });
        let curves = r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><text>a</text></svg>"#;
        let trainings = ["network", "other"].map(|name| json!({ "name": name, "note": null, "curves": curves }));
        json!({
            "name": name,
            "trainings": if name == "slow" { json!(trainings) } else { json!([]) },
            "instances": (0..INSTANCES).map(|instance| format!("instance-{instance}.json")).collect::<Vec<_>>(),
            "methods": methods.collect::<Vec<_>>(),
        })
    };
    json!({
        "title": "A <test> & more",
        "command": "bundlenet bench --data a/rather/long/path/to/some/folder/of/instances/that/has/no/blank/in/it",
        "machine": "a machine",
        "version": "0.0.0",
        "steps": STEPS,
        "data_sets": [data_set("slow", 0.05, 0.1), data_set("fast", 0.6, 0.1), data_set("close", 1e-5, 1e-3)],
    })
}

/// The command that starts a browser, or a message without one.
fn browser() -> Result<String, String> {
    let works = |program: &String| {
        let version = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    };
    let programs = match std::env::var("CHROMIUM") {
        Ok(program) => vec![program],
        Err(_) => ["chromium", "google-chrome", "chromium-browser"].map(String::from).to_vec(),
    };
    let message = format!("none of {programs:?} starts; apt-get install chromium, or set CHROMIUM to a browser");
    programs.into_iter().find(works).ok_or(message)
}

/// The document after all scripts of the page have run.
fn document(browser: &str, folder: &Path, page: &str, width: usize) -> String {
    let output = folder.join("document.html");
    let mut child = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("--window-size={width},900"))
        .arg(format!("file://{}", folder.join(page).display()))
        .stdout(File::create(&output).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("the browser does not end");
        }
        thread::sleep(Duration::from_millis(50));
    }
    fs::read_to_string(output).unwrap()
}

/// The report of the probe in a window of `width` pixels.
fn summary(width: usize) -> Value {
    let browser = browser().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let page = PAGE
        .replace("__DATA__", &data().to_string().replace('<', "\\u003c"))
        .replace("<head>", &format!("<head>{LISTENER}"))
        .replace("</body>", &format!("{PROBE}</body>"));
    fs::write(folder.path().join("report.html"), page).unwrap();
    // A window of the browser has at least 500 pixels; a frame in it can be as narrow as a phone.
    let around = format!(
        r#"<!DOCTYPE html><pre id="summary"></pre>
        <script>onmessage = event => {{ document.getElementById("summary").textContent = event.data; }};</script>
        <iframe src="report.html" style="border: 0; width: {width}px; height: 800px"></iframe>"#
    );
    fs::write(folder.path().join("around.html"), around).unwrap();
    let document = document(&browser, folder.path(), "around.html", width);
    let (_, rest) = document.split_once(r#"<pre id="summary">"#).expect(&document);
    let (text, _) = rest.split_once("</pre>").unwrap();
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&nbsp;", "\u{a0}").replace("&amp;", "&");
    assert!(!text.is_empty(), "the page sent nothing");
    serde_json::from_str(&text).unwrap()
}

#[track_caller]
fn check(width: usize) {
    let summary = summary(width);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    assert_eq!(summary["errors"], json!([]));
    assert_eq!(summary["width"], width);
    assert_eq!(summary["title"], "A <test> & more");
    assert_eq!(summary["legend"], json!(METHODS));
    assert_eq!(summary["named"], true);

    let (three, two, none) = (json!([3, 3, 3, 3, 3]), json!([2, 2, 2, 2, 2]), json!([0, 0, 0, 0, 0]));
    assert_eq!(summary["before"], three);
    assert_eq!(summary["off"], json!({ "pressed": "false", "drawn": two, "left": METHODS[1..] }));
    assert_eq!(summary["on"], json!({ "pressed": "true", "drawn": three }));
    assert_eq!(summary["none"], none);
    assert_eq!(summary["withoutBands"], 0);

    assert!(
        text(&summary["keyboardTip"]).starts_with("network\nstep 0, 0 s\ngap 77.5 %"),
        "{}",
        summary["keyboardTip"]
    );
    assert!(text(&summary["pointerTip"]).starts_with("network\nstep "), "{}", summary["pointerTip"]);
    assert_eq!(summary["tipAfterwards"], "");
    assert_eq!(summary["unsorted"], json!(METHODS));
    // The made-up methods are better and better.
    assert_eq!(summary["sorted"], json!([METHODS[2], METHODS[1], METHODS[0]]));

    let sets = summary["sets"].as_array().unwrap();
    assert_eq!(sets.len(), 3);
    for (set, name) in sets.iter().zip(["slow", "fast", "close"]) {
        assert_eq!(set["heading"], format!("{name}: mean gap in %"));
        assert_eq!(set["drawn"], three);
        assert_eq!(set["rows"], METHODS.len());
        assert!(set["best"].as_u64() >= Some(STEPS.len() as u64), "{set}");
        assert_eq!(set["published"], STEPS.len());
        assert_eq!(set["strange"], 0);
        assert!(set["overflow"].as_i64() <= Some(0), "the page is wider than the window: {set}");
        for ticks in set["ticks"].as_array().unwrap().iter().map(|ticks| ticks.as_array().unwrap()) {
            let different: HashSet<String> = ticks.iter().map(text).collect();
            assert!(ticks.len() >= 2 && different.len() == ticks.len(), "{name}: {ticks:?}");
        }
        // Round numbers of steps, at even distances.
        let steps: Vec<usize> =
            set["steps"].as_array().unwrap().iter().map(|tick| text(tick).parse().unwrap()).collect();
        assert!(steps.len() >= 4 && steps.windows(3).all(|at| at[2] - at[1] == at[1] - at[0]), "{steps:?}");
        assert_eq!(set["curves"], if name == "slow" { json!([false, 2, 1]) } else { json!([true, 0, 0]) });
        assert_eq!(set["worst"].as_array().unwrap().len(), 10);
        assert_eq!(set["worst"][0], format!("instance-{}.json", INSTANCES - 1));
    }
}

#[ignore = "needs a browser"]
#[test]
fn works_on_a_desktop() {
    check(1280);
}

#[ignore = "needs a browser"]
#[test]
fn works_on_a_phone() {
    check(390);
}

#[test]
fn needs_nothing_but_itself() {
    assert_eq!(PAGE.matches("__DATA__").count(), 1);
    let without_namespace = PAGE.replace("http://www.w3.org/2000/svg", "");
    for outside in ["http:", "https:", "//cdn", "src=", "href=", "@import", "url("] {
        assert!(!without_namespace.contains(outside), "{outside}");
    }
}
