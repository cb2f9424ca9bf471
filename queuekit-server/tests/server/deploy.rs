//! The files of `deploy/kubernetes` and the program: names, ports, paths and fields agree.

use serde_json::Value;
use yaml_rust2::{Yaml, YamlLoader};

use crate::common::{Server, Store};
use crate::sandbox::Sandbox;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/kubernetes");

/// The objects of all files, the kustomization's aside.
fn objects() -> Vec<Yaml> {
    let files = std::fs::read_dir(FOLDER).unwrap().map(|file| file.unwrap().path());
    let files = files.filter(|file| !file.ends_with("kustomization.yaml"));
    files
        .flat_map(|file| {
            let text = std::fs::read_to_string(&file).unwrap();
            YamlLoader::load_from_str(&text).unwrap_or_else(|error| panic!("{file:?}: {error}"))
        })
        .collect()
}

fn find<'a>(objects: &'a [Yaml], kind: &str, name: &str) -> &'a Yaml {
    let is_it = |object: &&Yaml| text(object, "kind") == kind && named(object) == name;
    objects.iter().find(is_it).unwrap_or_else(|| panic!("no {kind} {name}"))
}

fn named(object: &Yaml) -> &str {
    text(&object["metadata"], "name")
}

fn text<'a>(of: &'a Yaml, field: &str) -> &'a str {
    of[field].as_str().unwrap_or_else(|| panic!("no {field} in {of:?}"))
}

fn list(of: &Yaml) -> &[Yaml] {
    of.as_vec().map_or(&[], Vec::as_slice)
}

fn container(deployment: &Yaml) -> &Yaml {
    &deployment["spec"]["template"]["spec"]["containers"][0]
}

fn arguments(container: &Yaml) -> Vec<&str> {
    list(&container["args"]).iter().map(|arg| arg.as_str().unwrap()).collect()
}

fn variable<'a>(container: &'a Yaml, name: &str) -> &'a str {
    let is_it = |variable: &&Yaml| text(variable, "name") == name;
    text(list(&container["env"]).iter().find(is_it).unwrap(), "value")
}

/// The port of a container by its name.
fn port(container: &Yaml, name: &Yaml) -> i64 {
    let named = list(&container["ports"]).iter().find(|port| port["name"] == *name);
    named.and_then(|port| port["containerPort"].as_i64()).unwrap_or_else(|| panic!("{name:?}"))
}

const PROBES: [&str; 3] = ["startupProbe", "livenessProbe", "readinessProbe"];

#[test]
fn probes_ask_routes_that_the_processes_answer_at_the_ports_that_they_listen_on() {
    let objects = objects();
    let server = Server::start(Store::of("memory").unwrap(), &[]);
    let sandbox = Sandbox::new();
    let mut work = sandbox.start(&["work", "--metrics-listen=127.0.0.1:0"]);
    let said = work.says("serving metrics and health address=");
    let worker = said.trim().rsplit_once("address=").unwrap().1;
    for (name, address) in [("queuekit-server", server.address()), ("queuekit-worker", worker)] {
        let deployment = find(&objects, "Deployment", name);
        let container = container(deployment);
        let listens = match name {
            "queuekit-server" => variable(container, "QUEUEKIT_LISTEN").to_owned(),
            _ => {
                let flag = |arg: &&str| arg.starts_with("--metrics-listen=");
                let arguments = arguments(container);
                arguments.iter().find(|arg| flag(arg)).unwrap().to_string()
            }
        };
        for probe in PROBES {
            let probe = &container[probe]["httpGet"];
            let port = port(container, &probe["port"]);
            assert!(listens.ends_with(&format!(":{port}")), "{name}: {listens}");
            let answer = ureq::get(format!("http://{address}{}", text(probe, "path"))).config();
            let answer = answer.http_status_as_error(false).build().call().unwrap();
            // A worker that has just started may not be ready; a route that is unknown answers 404.
            assert!([200, 503].contains(&answer.status().as_u16()), "{name}: {probe:?}");
        }
        let grace = &deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"];
        assert!(grace.as_i64().unwrap() > 30 + 5, "drain and the end of the store: {name}");
    }
    let arguments = arguments(container(find(&objects, "Deployment", "queuekit-worker")));
    let help = sandbox.run(&["work", "--help"]).ok();
    for flag in arguments.iter().filter_map(|arg| arg.split('=').next()) {
        assert!(flag == "work" || help.contains(flag), "{flag}");
    }
}

#[test]
fn the_autoscaler_asks_for_a_field_that_the_server_answers_about_the_queues_of_the_workers() {
    let objects = objects();
    let scaled = &find(&objects, "ScaledObject", "queuekit-worker")["spec"];
    let target = &scaled["scaleTargetRef"];
    let worker = container(find(&objects, text(target, "kind"), text(target, "name")));
    let trigger = &scaled["triggers"][0];
    let asked = text(&trigger["metadata"], "url");
    let service = find(&objects, "Service", "queuekit");
    let port = service["spec"]["ports"][0]["port"].as_i64().unwrap();
    let path = asked.strip_prefix(&format!("http://queuekit.queuekit.svc:{port}")).unwrap();

    let server = Server::start(Store::of("memory").unwrap(), &[]);
    let answer: Value = server.get(path).send().expect(200).value();
    let field = text(&trigger["metadata"], "valueLocation");
    assert!(answer[field].is_number(), "{field} in {answer}");

    let arguments = arguments(worker);
    let queues = arguments.iter().find_map(|arg| arg.strip_prefix("--queues=")).unwrap();
    let slots = variable(worker, "QUEUEKIT_CONCURRENCY");
    let query = format!("queues={queues}&slots_per_worker={slots}");
    assert_eq!(path.split_once('?').unwrap().1, query);

    let name = text(&trigger["authenticationRef"], "name");
    let key = &find(&objects, "TriggerAuthentication", name)["spec"]["secretTargetRef"][0];
    let secret = &find(&objects, "Secret", text(key, "name"))["stringData"];
    assert!(!text(secret, text(key, "key")).is_empty());
}

#[test]
fn networks_services_and_budgets_name_pods_and_ports_that_there_are() {
    let objects = objects();
    let deployments =
        ["queuekit-server", "queuekit-worker"].map(|name| find(&objects, "Deployment", name));
    let selects = |labels: &Yaml, deployment: &&&Yaml| {
        let pod = &deployment["spec"]["template"]["metadata"]["labels"];
        labels
            .as_hash()
            .unwrap()
            .iter()
            .all(|(label, value)| pod[label.as_str().unwrap()] == *value)
    };
    for object in &objects {
        let spec = &object["spec"];
        let (labels, ports) = match text(object, "kind") {
            "PodDisruptionBudget" => (&spec["selector"]["matchLabels"], Vec::new()),
            "Service" => (&spec["selector"], list(&spec["ports"]).to_vec()),
            "NetworkPolicy" => {
                let rules = list(&spec["ingress"]).iter();
                let ports = rules.flat_map(|rule| list(&rule["ports"])).cloned();
                (&spec["podSelector"]["matchLabels"], ports.collect())
            }
            _ => continue,
        };
        let selected: Vec<_> = deployments.iter().filter(|one| selects(labels, one)).collect();
        assert!(!selected.is_empty(), "{} selects no pod", named(object));
        for port in ports {
            let open = list(&container(selected[0])["ports"]);
            let is_open = open.iter().any(|one| one["containerPort"] == port["port"]);
            assert!(is_open, "{}: {port:?}", named(object));
        }
    }
}
