//! Settings of the dashboard.

use anyhow::Result;
use clap::Args;
use serde::Deserialize;

use super::Environment;
use super::switch::Switch;
use crate::error::Usage;
use crate::web::{BasePath, DashboardOptions, Redaction, SessionSecret};

/// Longest name of an environment.
const NAME_BYTES: usize = 40;

/// Flags of the dashboard.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct DashboardFlags {
    /// Whether to serve the dashboard at /ui [env: QUEUEKIT_DASHBOARD] [default: on]
    #[arg(long, value_name = "on|off", hide_possible_values = true)]
    dashboard: Option<Switch>,
    /// Path that a proxy puts in front of the dashboard's paths, such as /queuekit
    /// [env: QUEUEKIT_BASE_PATH]
    #[arg(long, value_name = "PATH")]
    base_path: Option<BasePath>,
    /// Name of the environment, which each page of the dashboard shows, such as production
    /// [env: QUEUEKIT_ENVIRONMENT]
    #[arg(long, value_name = "NAME")]
    environment: Option<String>,
}

/// `[dashboard]`. It has no `Debug`, because it holds a secret.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct DashboardEntry {
    enabled: Option<bool>,
    base_path: Option<BasePath>,
    environment: Option<String>,
    redact: Vec<Redaction>,
    session_secret: Option<SessionSecret>,
    secure_cookies: bool,
}

impl DashboardEntry {
    /// Whether the file itself holds a secret.
    pub(super) fn holds_secret(&self) -> bool {
        self.session_secret.is_some()
    }
}

impl DashboardFlags {
    /// The options; none if the dashboard is off.
    ///
    /// # Errors
    /// A wrong setting.
    pub(super) fn resolve(
        self,
        file: &DashboardEntry,
        variables: &Environment,
        has_tls: bool,
    ) -> Result<Option<DashboardOptions>> {
        let stated = match self.dashboard {
            Some(switch) => Some(switch),
            None => variables.parse("QUEUEKIT_DASHBOARD")?,
        };
        let is_on = stated.map(|switch| switch == Switch::On).or(file.enabled).unwrap_or(true);
        let base_path = match self.base_path {
            Some(path) => Some(path),
            None => variables.parse("QUEUEKIT_BASE_PATH")?,
        };
        let named =
            self.environment.or_else(|| variables.get("QUEUEKIT_ENVIRONMENT").map(Into::into));
        let environment = named.or_else(|| file.environment.clone());
        if environment.as_deref().is_some_and(|name| !is_name(name)) {
            return Err(Usage::error(format!(
                "the name of the environment must have 1 to {NAME_BYTES} bytes, and no control \
                 characters; set it with --environment, QUEUEKIT_ENVIRONMENT or `environment` of \
                 [dashboard]"
            )));
        }
        let session_secret = match variables.parse("QUEUEKIT_SESSION_SECRET")? {
            Some(secret) => Some(secret),
            None => file.session_secret.clone(),
        };
        Ok(is_on.then(|| DashboardOptions {
            base_path: base_path.or_else(|| file.base_path.clone()).unwrap_or_default(),
            environment,
            redact: file.redact.clone(),
            session_secret,
            secure_cookies: has_tls || file.secure_cookies,
        }))
    }
}

fn is_name(name: &str) -> bool {
    !name.trim().is_empty() && name.len() <= NAME_BYTES && !name.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str) -> DashboardEntry {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn a_setting_is_the_flag_s_else_the_variable_s_else_the_file_s() {
        let none = Environment::of([]);
        let on = |flags: DashboardFlags, file: &str, variables: &Environment| {
            flags.resolve(&entry(file), variables, false).unwrap()
        };
        let flags = DashboardFlags::default;
        assert_eq!(on(flags(), "", &none), Some(DashboardOptions::default()), "it is on");
        assert_eq!(on(flags(), "enabled = false", &none), None);
        let off = Environment::of([("QUEUEKIT_DASHBOARD", "off")]);
        assert_eq!(on(flags(), "enabled = true", &off), None);
        let flag = DashboardFlags { dashboard: Some(Switch::On), ..flags() };
        assert!(on(flag, "enabled = false", &off).is_some());
        let file = "base_path = '/a'\nenvironment = 'file'";
        let found = on(flags(), file, &none).unwrap();
        assert_eq!((found.base_path.as_str(), found.environment.as_deref()), ("/a", Some("file")));
        let variables =
            Environment::of([("QUEUEKIT_BASE_PATH", "/b/"), ("QUEUEKIT_ENVIRONMENT", "variable")]);
        let found = on(flags(), file, &variables).unwrap();
        assert_eq!(found.base_path.as_str(), "/b");
        assert_eq!(found.environment.as_deref(), Some("variable"));
        let flag = DashboardFlags {
            base_path: Some("/c".parse().unwrap()),
            environment: Some("flag".to_owned()),
            ..flags()
        };
        let found = on(flag, file, &variables).unwrap();
        assert_eq!((found.base_path.as_str(), found.environment.as_deref()), ("/c", Some("flag")));
    }

    #[test]
    fn s9_a_wrong_setting_is_refused_and_its_value_is_not_repeated() {
        for (name, value) in [
            ("QUEUEKIT_DASHBOARD", "hunter2"),
            ("QUEUEKIT_BASE_PATH", "hunter2"),
            ("QUEUEKIT_ENVIRONMENT", "hunter2\u{7}"),
            ("QUEUEKIT_SESSION_SECRET", "hunter2"),
        ] {
            let variables = Environment::of([(name, value)]);
            let refused = DashboardFlags::default().resolve(&entry(""), &variables, false);
            let told = refused.unwrap_err().to_string();
            assert!(told.contains(name) && !told.contains("hunter2"), "{told}");
        }
    }

    #[test]
    fn cookies_are_for_tls_only_if_this_server_or_its_proxy_has_it() {
        for (file, has_tls, is_secure) in
            [("", false, false), ("", true, true), ("secure_cookies = true", false, true)]
        {
            let resolved =
                DashboardFlags::default().resolve(&entry(file), &Environment::of([]), has_tls);
            assert_eq!(resolved.unwrap().unwrap().secure_cookies, is_secure);
        }
    }
}
