"""A secret from the settings: in the environment, or better in a file."""

from __future__ import annotations

from pathlib import Path

from pydantic import SecretStr

from bright_server.errors import ConfigurationError


def read_credential(
    name: str, given: SecretStr | None, file: Path | None
) -> str | None:
    """Return the credential of the setting `name`, or of the file `name`_FILE.

    None where there is neither. The credential itself is in no error.

    Raises:
        ConfigurationError: both are given, or there is none in what is given.
    """
    if file is not None and given is not None:
        raise ConfigurationError(f"give {name}_FILE or {name}, not both")
    if file is not None:
        name, credential = f"{name}_FILE", _read(f"{name}_FILE", file)
    elif given is not None:
        credential = given.get_secret_value()
    else:
        return None
    credential = credential.strip()
    if not credential or not (credential.isascii() and credential.isprintable()):
        raise ConfigurationError(f"{name} holds no credential: one line of plain ASCII")
    return credential


def _read(name: str, file: Path) -> str:
    try:
        return file.read_text(encoding="ascii")
    except OSError as error:
        raise ConfigurationError(
            f"{name} {file} cannot be read ({error.strerror})"
        ) from error
    except UnicodeDecodeError:  # it quotes the content: not even as a cause
        return ""
